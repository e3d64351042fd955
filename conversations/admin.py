"""Conversations and events in the admin: read-only, as the rows are the record."""

from django.contrib import admin, messages
from django.urls import reverse
from django.utils.html import format_html

from agentserver.auth.doors import OPERATOR
from agentserver.errors import Problem
from conversations import services
from conversations.models import Conversation, Event


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows are looked at, not edited. Counting all rows for a page is left out: it is slow."""

    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request):
        return False

    def has_change_permission(self, request, obj=None):
        return False

    def get_readonly_fields(self, request, obj=None):
        return self.get_fields(request, obj)


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyAdmin):
    list_display = ["id", "title", "status", "owner", "events_link", "created_at", "updated_at"]
    list_filter = ["status"]
    search_fields = ["id__exact", "title"]
    ordering = ["-updated_at", "-id"]
    fields = [
        "id",
        "title",
        "status",
        "owner",
        "workspace_dir",
        "tags",
        "created_at",
        "updated_at",
        "events_link",
    ]
    actions = ["pause", "interrupt"]

    def get_queryset(self, request):
        return super().get_queryset(request).defer("base_state", "info", "request")

    @admin.display(description="Events")
    def events_link(self, row):
        address = reverse("admin:conversations_event_changelist")
        return format_html(
            '<a href="{}?conversation__id__exact={}">{}</a>', address, row.id, row.next_sequence
        )

    @admin.action(description="Pause")
    def pause(self, request, queryset):
        self._stop(request, queryset, "pause")

    @admin.action(description="Interrupt")
    def interrupt(self, request, queryset):
        self._stop(request, queryset, "interrupt")

    def delete_model(self, request, obj):
        services.delete(row=obj)

    def delete_queryset(self, request, queryset):
        for row in queryset:
            services.delete(row=row)

    def _stop(self, request, queryset, kind):
        for row in queryset:
            try:
                services.stop(row=services.find(conversation_id=row.id, principal=OPERATOR), kind=kind)
            except Problem as problem:
                self.message_user(request, f"{row.id}: {problem.detail}", messages.ERROR)


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ["conversation_id", "sequence", "kind", "source", "timestamp"]
    list_filter = ["source"]
    search_fields = ["event_id__exact", "conversation__id__exact"]
    ordering = ["-id"]
    fields = ["conversation", "sequence", "event_id", "kind", "source", "timestamp", "payload"]

    def get_queryset(self, request):
        rows = super().get_queryset(request)
        return rows if request.resolver_match.url_name.endswith("_change") else rows.defer("payload", "body")

    def has_delete_permission(self, request, obj=None):
        return False
