"""Webhooks in the admin: made, changed, enabled; what each has heard, and to have it told again."""

import json

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from pydantic import ValidationError as Refused

from agentserver.errors import Problem
from agentserver.webhooks import hooks, reads, services
from agentserver.webhooks.bodies import WebhookBody
from agentserver.webhooks.models import Delivery, Webhook


class WebhookForm(forms.ModelForm):
    """What is secret is given and never shown; left empty, it stays as it is."""

    given_headers = forms.CharField(
        label="Headers",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text='JSON, such as {"Authorization": "Bearer ..."}; empty: as they are',
    )
    given_secret = forms.CharField(
        label="Secret",
        required=False,
        widget=forms.PasswordInput,
        help_text="Signs posts; empty: as it is",
    )

    class Meta:
        model = Webhook
        fields = ("owner", "base_url", "event_buffer_size", "flush_delay", "num_retries", "retry_delay")

    def clean(self):
        super().clean()
        data = self.cleaned_data
        fields = {name: data[name] for name in WebhookBody.model_fields if data.get(name) is not None}
        try:
            if data.get("given_headers"):
                fields["headers"] = json.loads(data["given_headers"])
            if data.get("given_secret"):
                fields["secret"] = data["given_secret"]
            WebhookBody.model_validate(fields)
        except json.JSONDecodeError:
            raise ValidationError({"given_headers": "This is not JSON."}) from None
        except Refused as refused:
            raise ValidationError(
                [f"{e['loc'][0] if e['loc'] else ''}: {e['msg']}" for e in refused.errors()]
            ) from None
        self.wire = fields
        return data


@admin.register(Webhook)
class WebhookAdmin(admin.ModelAdmin):
    form = WebhookForm
    list_display = (
        "base_url",
        "owner",
        "of_environment",
        "enabled",
        "disabled_reason",
        "failing_since",
        "last_error",
        "deliveries_link",
    )
    list_filter = ("enabled",)
    list_select_related = ("owner",)
    search_fields = ("base_url", "owner__username")
    raw_id_fields = ("owner",)  # its label is read aloud; that of the autocompletion is not
    readonly_fields = ("enabled", "disabled_reason", "failing_since", "last_error", "created_at")
    actions = ("enable", "disable", "redeliver")
    show_full_result_count = False
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[Webhook]:
        return hooks.rows()

    def has_change_permission(self, request: HttpRequest, obj: Webhook | None = None) -> bool:
        """One of the environment is changed there."""
        return super().has_change_permission(request) and (obj is None or obj.key is None)

    def has_delete_permission(self, request: HttpRequest, obj: Webhook | None = None) -> bool:
        return super().has_delete_permission(request) and (obj is None or obj.key is None)

    def save_model(self, request, obj, form, change):
        owner = obj.owner_id
        if change:
            Webhook.objects.filter(pk=obj.pk).update(owner=owner)
            services.change(row=obj, changes=form.wire)
        else:
            obj.pk = services.create(owner=owner, fields=WebhookBody(**form.wire).model_dump()).pk

    def delete_model(self, request, obj):
        self._try(request, services.delete, row=obj)

    def delete_queryset(self, request, queryset):
        for row in queryset:
            self._try(request, services.delete, row=row)

    def get_deleted_objects(self, objs, request):
        """How many deliveries go; nobody may delete one by itself, which Django would ask for."""
        rows = list(objs)
        deliveries = Delivery.objects.filter(webhook__in=rows).count()
        return [str(row) for row in rows], {"webhooks": len(rows), "deliveries": deliveries}, set(), []

    @admin.display(boolean=True, description="environment")
    def of_environment(self, row: Webhook) -> bool:
        return row.key is not None

    @admin.display(description="deliveries")
    def deliveries_link(self, row: Webhook) -> str:
        address = reverse("admin:webhooks_delivery_changelist")
        return format_html('<a href="{}?webhook__id__exact={}">deliveries</a>', address, row.pk)

    @admin.action(description="Enable, and deliver what waits", permissions=["change"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
        for row in queryset:
            self._try(request, services.change, row=row, changes={"enabled": True})

    @admin.action(description="Disable; what happens waits", permissions=["change"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
        for row in queryset:
            self._try(request, services.change, row=row, changes={"enabled": False})

    @admin.action(description="Deliver everything again from the beginning", permissions=["change"])
    def redeliver(self, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
        count = services.redeliver(deliveries=Delivery.objects.filter(webhook__in=queryset))
        self.message_user(request, f"Everything of {count} conversations is delivered again.")

    def _try(self, request: HttpRequest, service, **arguments) -> None:
        try:
            service(**arguments)
        except Problem as problem:
            self.message_user(request, f"{arguments['row']}: {problem.detail}", messages.ERROR)


class BehindFilter(admin.SimpleListFilter):
    title, parameter_name = "state", "state"

    def lookups(self, request, model_admin):
        return [("behind", "something waits"), ("failing", "failing")]

    def queryset(self, request, queryset):
        if self.value() == "behind":
            return queryset.behind()
        return queryset.filter(failures__gt=0) if self.value() == "failing" else queryset


@admin.register(Delivery)
class DeliveryAdmin(admin.ModelAdmin):
    list_display = ("conversation_id", "webhook", "posted", "waiting", "failures", "next_at", "last_error")
    list_filter = (BehindFilter, "webhook")
    list_select_related = ("webhook",)
    search_fields = ("conversation__id__exact",)
    ordering = ("-id",)
    actions = ("redeliver", "retry")
    show_full_result_count = False
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        return reads.with_newest(Delivery.objects.all())

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Delivery | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Delivery | None = None) -> bool:
        return False

    def has_redeliver_permission(self, request: HttpRequest) -> bool:
        return super().has_change_permission(request)

    @admin.display(description="waiting events")
    def waiting(self, row: Delivery) -> int:
        return reads.waiting(row)

    @admin.action(description="Deliver everything again from the beginning", permissions=["redeliver"])
    def redeliver(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        count = services.redeliver(deliveries=Delivery.objects.filter(pk__in=queryset.values("pk")))
        self.message_user(request, f"Everything of {count} conversations is delivered again.")

    @admin.action(description="Try at once what failed", permissions=["redeliver"])
    def retry(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        count = services.retry(deliveries=Delivery.objects.filter(pk__in=queryset.values("pk")))
        self.message_user(request, f"{count} deliveries are tried at once.")
