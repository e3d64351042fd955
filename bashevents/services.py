"""What can be done with bash: start, execute, stop, find, clear. For threads, not for loops."""

import contextlib
import datetime
import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agentserver import live, writer
from agentserver.errors import NotFound, invalid
from bashevents import journal, runner
from bashevents.execution import Execution
from bashevents.journal import Order
from bashevents.models import BashEvent, Kind
from bashevents.querysets import BashEventQuerySet
from bashevents.serializers import ExecuteRequest, new_id

STOPS = "bash-stops"
"""The group in which processes ask each other to stop a command."""
PAGE_SIZE = 32 * 1024 * 1024
"""Characters of a page; one that would be larger ends earlier, with a cursor."""
FETCHED = 16
"""Rows that come from the database at once: large ones that no longer fit are not read."""
CLEAR_BATCH = 500
"""Rows deleted in one transaction by ``clear``."""

Position = tuple[datetime.datetime, int]


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose shell: one conversation's with its workspace, or the server's own."""

    conversation_id: uuid.UUID | None = None
    workspace: str | None = None


SERVER = Scope()


def start_command(*, scope: Scope, body: ExecuteRequest) -> str:
    """Start a command; its BashCommand as JSON, once that is committed. Raises Invalid, TooManyCommands."""
    return _start(scope=scope, body=body, joined=False)[0]


def execute_command(*, scope: Scope, body: ExecuteRequest) -> str:
    """Run a command to its end; one BashOutput with all it printed, as JSON."""
    return _start(scope=scope, body=body, joined=True)[1].result.payload()


def _start(*, scope: Scope, body: ExecuteRequest, joined: bool) -> tuple[str, Execution]:
    order = Order(new_id(), scope.conversation_id, _placed(scope, body))
    here = runner.current()
    execution = here.reserve(order, joined=joined)
    try:
        payload = journal.append_command(order, runner=runner.name(), after=lambda: here.launch(execution))
    except BaseException:
        here.discard(execution)
        raise
    return payload, execution


def _placed(scope: Scope, body: ExecuteRequest) -> ExecuteRequest:
    """``body`` with the directory it runs in. Raises Invalid for one outside the workspace."""
    if scope.workspace is None:
        return body
    cwd = str(Path(scope.workspace) / body.cwd) if body.cwd else scope.workspace
    if not _is_within(cwd, scope.workspace):
        raise invalid(["body", "cwd"], "The directory is outside the workspace of this conversation.")
    return body.model_copy(update={"cwd": cwd})


def _is_within(path: str, directory: str) -> bool:
    """Whether what ``path`` resolves to, links included, lies in ``directory``."""
    try:
        resolved, root = os.path.realpath(path), os.path.realpath(directory)
    except (OSError, ValueError):  # a NUL, or a loop of links
        return False
    return os.path.commonpath([resolved, root]) == root


def stop_command(*, scope: Scope, command_id: uuid.UUID) -> None:
    """Ask a command to end; nothing happens to one that has ended. Raises NotFound."""
    if runner.current().stop(command_id, conversation_id=scope.conversation_id):
        return
    command = BashEvent.objects.of(scope.conversation_id).filter(event_id=command_id, kind=Kind.COMMAND)
    state = command.values_list("runner", flat=True).first()
    if state is None:
        raise NotFound()
    if state:  # it runs in another process
        live.transient(
            STOPS, f"{command_id.hex} {scope.conversation_id.hex if scope.conversation_id else ''}"
        )


def find_event(*, scope: Scope, event_id: uuid.UUID) -> str:
    """One event as JSON. Raises NotFound."""
    found = BashEvent.objects.of(scope.conversation_id).filter(event_id=event_id)
    payload = found.values_list("payload", flat=True).first()
    if payload is None:
        raise NotFound()
    return payload


def find_events(*, scope: Scope, event_ids: Iterable[uuid.UUID | None]) -> str:
    """A JSON array in the order asked for, with null for what does not exist."""
    event_ids = list(event_ids)
    wanted = {event_id for event_id in event_ids if event_id is not None}
    rows = BashEvent.objects.of(scope.conversation_id).filter(event_id__in=wanted)
    payloads = dict(rows.values_list("event_id", "payload"))
    return f"[{','.join(payloads.get(event_id, 'null') for event_id in event_ids)}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What to look for. ``position``: continue after this (time, id)."""

    kind: str | None = None
    command_id: uuid.UUID | None = None
    since: datetime.datetime | None = None
    before: datetime.datetime | None = None
    beyond_order: int | None = None
    newest_first: bool = False
    position: Position | None = None
    limit: int = 100


def search(*, scope: Scope, query: Search) -> tuple[list[str], Position | None]:
    """A page of events as JSON, and where the next one begins, if there is one."""
    items: list[str] = []
    position, total = None, 0
    columns = _matching(scope, query).values_list("timestamp", "id", "size", "payload")
    with contextlib.closing(columns[: query.limit + 1].iterator(chunk_size=FETCHED)) as rows:
        for moment, number, size, payload in rows:
            total += size
            if items and (len(items) == query.limit or total > PAGE_SIZE):
                return items, position
            items.append(payload)
            position = (moment, number)
    return items, None


def _matching(scope: Scope, query: Search) -> BashEventQuerySet:
    events = BashEvent.objects.of(scope.conversation_id)
    if query.command_id is not None:
        # Only outputs are found by command, as in the reference.
        events = events.outputs_of(query.command_id) if query.kind != Kind.COMMAND else events.none()
    elif query.kind is not None:
        events = events.filter(kind=query.kind)
    if query.since is not None:
        events = events.filter(timestamp__gte=query.since)
    if query.before is not None:
        events = events.filter(timestamp__lt=query.before)
    if query.beyond_order is not None:
        # With a command there are outputs only, and an index of their order.
        orders = events.filter(order__gt=query.beyond_order)
        events = events.beyond_order(query.beyond_order) if query.command_id is None else orders
    if query.position is not None:
        events = events.past(query.position, newest_first=query.newest_first)
    if query.command_id is not None:
        return events.in_output_order(newest_first=query.newest_first)
    return events.in_order(newest_first=query.newest_first)


def clear(*, scope: Scope) -> int:
    """Delete all events there are now; how many. What runs goes on, and writes its later events."""
    events = BashEvent.objects.of(scope.conversation_id).filter(id__lte=BashEvent.objects.newest())
    total = 0
    while deleted := writer.current().call(lambda: _delete_some(events)):
        total += deleted
    return total


def _delete_some(events: BashEventQuerySet) -> int:
    numbers = list(events.order_by("id").values_list("id", flat=True)[:CLEAR_BATCH])
    return BashEvent.objects.filter(id__in=numbers).delete()[0]


def forget_conversation(*, conversation_id: uuid.UUID) -> None:
    """End the commands of a conversation that is being deleted, and delete their events."""
    runner.current().end_all(conversation_id=conversation_id)
    clear(scope=Scope(conversation_id))
