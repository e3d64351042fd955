"""Conversations and events in the admin: rows are the record, so they are read, never edited."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import actions
from django.urls import reverse
from django.utils.html import format_html

from agentserver import sdk, threads
from agentserver.adminlists import ReadOnlyAdmin
from agentserver.auth.doors import OPERATOR
from agentserver.errors import Problem
from agentserver.workspace import serving, steps, trajectories
from conversations import owners, reads, services
from conversations.models import Conversation, Event

MOST = 100
"""Conversations that one action takes."""


class OwnerFilter(admin.SimpleListFilter):
    """Accounts that have conversations; any other can be found by the name."""

    title, parameter_name = "owner", "owner"

    def lookups(self, request, model_admin):
        return owners.choices(request.GET.get(self.parameter_name, ""))

    def queryset(self, request, queryset):
        name = self.value()
        return owners.owned(queryset, name) if name else queryset


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyAdmin):
    list_display = ["id", "title", "status", "owner", "events_link", "created_at", "updated_at"]
    list_filter = ["status", OwnerFilter]
    list_select_related = ["owner"]
    search_fields = ["id"]
    search_help_text = "An id, or a part of a title or of a workspace"
    ordering = ["-updated_at", "-id"]
    sortable_by = ["created_at", "updated_at"]
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
        "dashboard_link",
    ]
    actions = ["pause", "interrupt", "export", "delete_selected"]

    def get_queryset(self, request):
        return super().get_queryset(request).defer("base_state", "info", "request", "goal")

    def get_search_results(self, request, queryset, search_term):
        text = search_term.strip()
        return reads.conversations_found(rows=queryset, text=text) if text else queryset, False

    @admin.display(description="Events")
    def events_link(self, row):
        address = reverse("admin:conversations_event_changelist")
        return format_html(
            '<a href="{}?conversation__id__exact={}">{}</a>', address, row.id, row.next_sequence
        )

    @admin.display(description="Live")
    def dashboard_link(self, row):
        return format_html(
            '<a href="{}">Open in the dashboard</a>', reverse("dashboard:conversation", args=[row.id])
        )

    # Actions. Who may delete a conversation may stop one.

    @admin.action(description="Pause", permissions=["delete"])
    def pause(self, request, queryset):
        self._each(request, queryset, "pause", lambda row: services.stop(row=row, kind="pause"))

    @admin.action(description="Interrupt", permissions=["delete"])
    def interrupt(self, request, queryset):
        self._each(request, queryset, "interrupt", lambda row: services.stop(row=row, kind="interrupt"))

    @admin.action(description="Export as a zip, without secrets", permissions=["view"])
    def export(self, request, queryset):
        rows = list(Conversation.objects.living().filter(id__in=queryset.values("id")[:MOST]))
        sdk.require()
        headers = serving.attachment("conversations.zip")
        return steps.answer(
            request, trajectories.zipped(*rows), content_type="application/zip", headers=headers
        )

    def delete_view(self, request, object_id, extra_context=None):
        """Without the transaction that Django puts around it: the service waits for one of the writer,
        which on SQLite would wait for this one."""
        return self._delete_view(request, object_id, extra_context)

    def delete_model(self, request, obj):
        services.delete(row=obj)

    @admin.action(description="Delete selected conversations", permissions=["delete"])
    def delete_selected(self, request, queryset):
        """Asks first, as Django does; then each goes by itself, and those that stay are named."""
        few = Conversation.objects.filter(id__in=list(queryset.values_list("id", flat=True)[:MOST]))
        if "post" not in request.POST:
            return actions.delete_selected(self, request, few)
        self.log_deletions(request, few)
        self._each(request, queryset, "delete", lambda row: services.delete(row=row))
        return None

    def get_deleted_objects(self, objs, request):
        """What the page that asks shows: how many events go, instead of every one of them."""
        rows = list(objs)
        events = sum(row.next_sequence for row in rows)
        counts = {"conversations": len(rows), "events": events}
        return [f"{row} with {row.next_sequence} events" for row in rows], counts, set(), []

    def _each(self, request, queryset, name: str, change: Callable[[Conversation], Any]) -> None:
        """Do it to all at once: each may wait seconds for its run to end."""
        ids = list(queryset.values_list("id", flat=True)[: MOST + 1])
        if len(ids) > MOST:
            self.message_user(request, f"One action takes {MOST}; repeat it for the rest.", messages.WARNING)
        ids = ids[:MOST]
        pending = [(one, threads.waiting().submit(_change, one, change)) for one in ids]
        failures = [(one, failure) for one, future in pending if (failure := _failure(future))]
        for one, failure in failures:
            self.message_user(request, f"{one}: {failure}", messages.ERROR)
        done = len(ids) - len(failures)
        if done:
            self.message_user(request, f"{name}: {done} done.", messages.SUCCESS)


def _change(conversation_id, change: Callable[[Conversation], Any]) -> None:
    change(services.find(conversation_id=conversation_id, principal=OPERATOR))


def _failure(future: "Future[None]") -> str | None:
    try:
        future.result()
    except Problem as problem:
        return str(problem.detail)
    return None


class SourceFilter(admin.SimpleListFilter):
    """Within one conversation, which has an index for it; values named, or Django would read every row."""

    title, parameter_name = "source", "source"

    def lookups(self, request, model_admin):
        if "conversation__id__exact" not in request.GET and not request.GET.get("q"):
            return []
        return [(name, name) for name in ("user", "agent", "environment")]

    def queryset(self, request, queryset):
        return queryset.filter(source=self.value()) if self.value() else queryset


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ["conversation_id", "sequence", "kind", "source", "timestamp"]
    list_filter = [SourceFilter]
    search_fields = ["conversation__id__exact"]
    search_help_text = "The id of a conversation"
    ordering = ["-id"]
    fields = ["conversation", "sequence", "event_id", "kind", "source", "timestamp", "payload"]

    def get_queryset(self, request):
        rows = super().get_queryset(request)
        return rows if request.resolver_match.url_name.endswith("_change") else rows.defer("payload", "body")

    def has_delete_permission(self, request, obj=None):
        return False
