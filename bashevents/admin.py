"""Bash events in the admin: to read, to follow from command to output, to prune."""

import datetime
import json
import re
import threading

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.db.models.functions import Substr
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from agentserver import conf
from agentserver.adminlists import ReadOnlyAdmin
from bashevents.models import BashEvent, Kind
from bashevents.retention import Pruning

SHOWN = 100
"""Characters of a text in the list."""
RUNNING = 500
"""Running commands that a list shows."""
ACTION_SECONDS = 20
"""How long an action prunes; then it says that there is more."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""Colours and movements of a terminal, which a list does not show."""
_TEXT = re.compile(r'"(?:command|stdout|stderr)":"((?:[^"\\]|\\.)*)')


class StateFilter(admin.SimpleListFilter):
    title, parameter_name = "state", "state"

    def lookups(self, request, model_admin):
        return [("running", "running"), ("failed", "exit code other than 0"), ("ended", "last output")]

    def queryset(self, request, queryset):
        match self.value():
            case "running":
                few = BashEvent.objects.running().values_list("id", flat=True)[:RUNNING]
                return queryset.filter(id__in=list(few))  # by their index; else all are read in order
            case "failed":
                return queryset.filter(exit_code__isnull=False).exclude(exit_code=0)
            case "ended":
                return queryset.filter(exit_code__isnull=False)  # the words of the index's condition
        return queryset


@admin.register(BashEvent)
class BashEventAdmin(ReadOnlyAdmin):
    list_display = ("timestamp", "kind", "text", "order", "exit_code", "running", "size", "related")
    list_filter = ("kind", StateFilter, "timestamp")
    search_fields = ("event_id__exact", "command_id__exact", "conversation_id__exact")
    search_help_text = "An id: of an event, a command or a conversation"
    ordering = ("-timestamp", "-id")
    fields = (
        "event_id",
        "kind",
        "timestamp",
        "conversation_id",
        "related",
        "order",
        "exit_code",
        "running",
        "content",
    )
    actions = ("prune_selected", "prune_expired")

    def has_delete_permission(self, request: HttpRequest, obj: BashEvent | None = None) -> bool:
        return False  # one by one would leave half a history: see the actions

    def has_prune_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("bashevents.delete_bashevent")

    def get_queryset(self, request: HttpRequest) -> QuerySet[BashEvent]:
        return (
            super().get_queryset(request).defer("payload").annotate(beginning=Substr("payload", 1, 4 * SHOWN))
        )

    @admin.display(description="text")
    def text(self, event: BashEvent) -> str:
        found = _TEXT.search(event.beginning)
        if not found:
            return ""
        try:
            text = json.loads(f'"{found[1]}"')
        except ValueError:  # the beginning ends within an escape
            text = found[1]
        text = _ESCAPES.sub("", text)
        return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"

    @admin.display(description="running")
    def running(self, event: BashEvent) -> str:
        return "running" if event.runner else ""  # a cross would look like a failure

    @admin.display(description="related")
    def related(self, event: BashEvent) -> str:
        url = f"{reverse('admin:bashevents_bashevent_changelist')}?command_id={event.command_id}&o=1"
        return format_html('<a href="{}">{}</a>', url, "output" if event.kind == Kind.COMMAND else "command")

    @admin.display(description="content")
    def content(self, event: BashEvent) -> str:
        return format_html(
            "<pre>{}</pre>", json.dumps(json.loads(event.payload), indent=2, ensure_ascii=False)
        )

    # Actions

    @admin.action(description="Prune the selected commands with all their events", permissions=["prune"])
    def prune_selected(self, request: HttpRequest, queryset: QuerySet[BashEvent]) -> None:
        commands = list(queryset.values_list("command_id", flat=True).distinct())
        self._prune(request, timezone.now(), BashEvent.objects.filter(command_id__in=commands))

    @admin.action(
        description="Prune all events that are past the retention (select any)", permissions=["prune"]
    )
    def prune_expired(self, request: HttpRequest, queryset: QuerySet[BashEvent]) -> None:
        retention = conf.current().bash_events_retention_seconds
        if retention is None:
            message = "There is no retention. Set OH_BASH_EVENTS_RETENTION_SECONDS and start again."
            self.message_user(request, message, messages.ERROR)
        else:
            self._prune(
                request, timezone.now() - datetime.timedelta(seconds=retention), BashEvent.objects.all()
            )

    def _prune(self, request: HttpRequest, cutoff: datetime.datetime, events: QuerySet[BashEvent]) -> None:
        pruning = Pruning(cutoff, events=events)
        limit = threading.Timer(ACTION_SECONDS, pruning.ended.set)
        limit.start()
        try:
            count = pruning.run()
        finally:
            limit.cancel()
        more = (
            " There is more: repeat the action, or run prune_bash_events." if pruning.ended.is_set() else ""
        )
        self.message_user(request, f"{count} events pruned; commands that still run keep theirs.{more}")
