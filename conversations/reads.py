"""The read side: pages, counts and single rows, straight from the database.

Nothing here loads a conversation or waits for a run. Pages are cut by key, so they cost the same
at any depth and size.
"""

import contextlib
import datetime
import functools
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connection
from django.db.models import Q, QuerySet, Sum
from django.db.models.expressions import RawSQL

from agentserver import compiled
from agentserver.errors import invalid
from conversations.models import Conversation, Event, Status
from conversations.querysets import ConversationQuerySet

CHUNK = 50
TRIGRAM = 3
FEW = 500
"""Conversations that a search names by their ids."""

# Conversations

SORTS = {
    "CREATED_AT": ("created_at", False),
    "CREATED_AT_DESC": ("created_at", True),
    "UPDATED_AT": ("updated_at", False),
    "UPDATED_AT_DESC": ("updated_at", True),
}


def conversation_page(
    *, rows: QuerySet, sort: str, limit: int, page_id: str | None
) -> tuple[list[Conversation], str | None]:
    """One page in the total order (time, id), and the id of the next page.

    A page id is a place in that order, not a row: it stays valid when its row is gone.
    """
    field, descending = SORTS[sort]
    if (place := _place(page_id, field)) is not None:
        rows = rows.filter(_from(place, field, descending))
    sign = "-" if descending else ""
    return _cut(list(rows.order_by(f"{sign}{field}", f"{sign}id")[: limit + 1]), limit, sort)


def first_conversations(
    *, status: str | None, sort: str, limit: int, columns: tuple[str, ...]
) -> tuple[list[Conversation], str | None]:
    """``conversation_page`` for the first page of all there are, which clients poll."""
    return _cut(list(_first_page(status, sort, limit, columns).models()), limit, sort)


@functools.lru_cache(256)
def _first_page(
    status: str | None, sort: str, limit: int, columns: tuple[str, ...]
) -> compiled.CompiledModels[Conversation]:
    field, descending = SORTS[sort]
    sign = "-" if descending else ""
    rows = Conversation.objects.living() if status is None else Conversation.objects.filter(status=status)
    ordered = rows.order_by(f"{sign}{field}", f"{sign}id")[: limit + 1]
    return compiled.CompiledModels(ordered, 0, columns)


def _cut(found: list[Conversation], limit: int, sort: str) -> tuple[list[Conversation], str | None]:
    following = found[limit] if len(found) > limit else None
    return found[:limit], None if following is None else place_of(following, sort)


def conversation_page_before(
    *, rows: QuerySet, sort: str, limit: int, page_id: str
) -> tuple[list[Conversation], bool]:
    """The page that ends where the page ``page_id`` begins, and whether there is one before it."""
    field, descending = SORTS[sort]
    if (place := _place(page_id, field)) is None:
        return [], False
    rows = rows.exclude(_from(place, field, descending))
    sign = "" if descending else "-"
    found = list(rows.order_by(f"{sign}{field}", f"{sign}id")[: limit + 1])
    return found[:limit][::-1], len(found) > limit


def _from(place: tuple[datetime.datetime, uuid.UUID], field: str, descending: bool) -> Q:
    """What stands at ``place`` or after it in the order."""
    moment, row_id = place
    beyond = "lt" if descending else "gt"
    return Q(**{f"{field}__{beyond}": moment}) | Q(**{field: moment, f"id__{beyond}e": row_id})


def conversations_found(*, rows: ConversationQuerySet, text: str) -> ConversationQuerySet:
    """Those of ``rows`` with the id ``text``, or with it in their title or workspace, in any case.

    A few are named by their ids, which an index of titles gave: else SQLite would look for them in the
    order of the page, row by row. Of many, some are soon met that way.
    """
    if "\0" in text:
        return rows.none()
    with contextlib.suppress(ValueError):
        return rows.filter(id=uuid.UUID(text))
    matching = rows.filter(Q(title__icontains=text) | Q(workspace_dir__icontains=text))
    # The statuses are named for the index that begins with them.
    named = matching.filter(status__in=[one for one in Status if one != Status.DELETING]).order_by()
    ids = list(named.values_list("id", flat=True)[: FEW + 1])
    return matching if len(ids) > FEW else rows.filter(id__in=ids)


def place_of(row: Conversation, sort: str) -> str:
    """The id of the page that begins with ``row``."""
    microseconds = round(getattr(row, SORTS[sort][0]).timestamp() * 1_000_000)
    return f"{microseconds:016x}{row.id.hex}"


def _place(page_id: str | None, field: str) -> tuple[datetime.datetime, uuid.UUID] | None:
    """The place a page id names; None for the first page, which unknown ids give as well."""
    if not page_id:
        return None
    try:
        if len(page_id) == 48:
            microseconds = int(page_id[:16], 16)
            moment = datetime.datetime.fromtimestamp(microseconds / 1_000_000, datetime.UTC)
            # Floats have no room for microseconds of today: set them apart.
            return moment.replace(microsecond=microseconds % 1_000_000), uuid.UUID(page_id[16:])
        row = Conversation.objects.filter(id=uuid.UUID(page_id)).only(field).first()
    except (ValueError, OverflowError, OSError):
        return None
    return None if row is None else (getattr(row, field), row.id)


# Events


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What a search, a count or an export wants of the events. Times are as stored."""

    kind: str | None = None
    source: str | None = None
    body: str | None = None
    since: str | None = None
    before: str | None = None

    def of_a_sort(self, rows: QuerySet) -> QuerySet:
        """Those of the kind and source, of events or of their tallies."""
        if self.kind:
            # Older clients name the kind by its full Python path.
            rows = rows.filter(kind=self.kind.rpartition(".")[2])
        return rows.filter(source=self.source) if self.source else rows

    def apply(self, rows: QuerySet) -> QuerySet:
        rows = self.of_a_sort(rows)
        if self.body:
            rows = _saying(rows.filter(kind="MessageEvent"), self.body.lower())
        if self.since:
            rows = rows.filter(timestamp__gte=self.since)
        if self.before:
            rows = rows.filter(timestamp__lt=self.before)
        return rows


def _saying(rows: QuerySet, text: str) -> QuerySet:
    """Those whose body contains ``text``; by the trigram index where it is long enough for one."""
    if "\0" in text:
        return rows.none()  # no body has it, and neither engine takes it in a query
    if len(text) < TRIGRAM:
        return rows.filter(body__contains=text)
    if connection.vendor == "postgresql":
        return rows.exclude(body="").filter(body__contains=text)
    phrase = '"' + text.replace('"', '""') + '"'
    found = RawSQL("SELECT rowid FROM conversations_event_body WHERE body MATCH %s", [phrase])
    return rows.filter(id__in=found)


def event_page(
    *, conversation_id: uuid.UUID, wanted: EventFilter, descending: bool, limit: int, page_id: str | None
) -> tuple[list[str], str | None]:
    """Payloads of one page in the order they were appended, and the id of the next event."""
    if page_id is None and wanted == EventFilter():
        return _cut_events(_end_of_events(descending, limit).rows(conversation_id), limit)
    rows = wanted.apply(Event.objects.of(conversation_id))
    start = _sequence_of(conversation_id, page_id)
    if start is not None:
        rows = rows.filter(sequence__lte=start) if descending else rows.filter(sequence__gte=start)
    rows = rows.order_by("-sequence" if descending else "sequence")
    return _cut_events(list(rows.values_list("event_id", "payload")[: limit + 1]), limit)


@functools.lru_cache(256)
def _end_of_events(descending: bool, limit: int) -> compiled.Compiled:
    rows = Event.objects.of(compiled.place(0)).order_by("-sequence" if descending else "sequence")
    return compiled.Compiled(rows.values_list("event_id", "payload")[: limit + 1], 1)


def _cut_events(found: list[Any], limit: int) -> tuple[list[str], str | None]:
    following = found[limit][0] if len(found) > limit else None
    return [payload for _, payload in found[:limit]], following


def event_count(*, row: Conversation, wanted: EventFilter) -> int:
    """How many events ``wanted`` finds; all are as many as have been numbered, as none goes alone."""
    if wanted == EventFilter():
        return row.next_sequence
    if wanted == EventFilter(kind=wanted.kind, source=wanted.source):
        return wanted.of_a_sort(row.tallies.all()).aggregate(total=Sum("count"))["total"] or 0
    return wanted.apply(row.events.all()).count()


def _sequence_of(conversation_id: uuid.UUID, event_id: str | None) -> int | None:
    if not event_id:
        return None
    rows = Event.objects.of(conversation_id).filter(event_id=event_id[:64])
    return rows.values_list("sequence", flat=True).first()


def event_payloads(*, conversation_id: uuid.UUID, event_ids: list[str]) -> list[str | None]:
    """The payloads of ``event_ids`` in their order, None for what is missing."""
    rows = Event.objects.of(conversation_id).filter(event_id__in=set(event_ids))
    found = dict(rows.values_list("event_id", "payload"))
    return [found.get(event_id) for event_id in event_ids]


def stored_time(text: str, name: str) -> str:
    """A time of a query as events store theirs: server-local. Raises Invalid (422)."""
    try:
        # A plus sign in a query that was not escaped arrives as a space.
        moment = datetime.datetime.fromisoformat(text.strip().replace(" ", "+") if "T" in text else text)
    except ValueError:
        raise invalid(["query", name], "Input should be a valid datetime", "datetime_parsing") from None
    if moment.tzinfo is not None:
        moment = moment.astimezone().replace(tzinfo=None)
    return moment.isoformat(timespec="microseconds")


def final_response(*, row: Conversation) -> str:
    """The agent's last word on the active branch; empty before there is one."""
    for event in _branch_backwards(row):
        if event["kind"] == "ActionEvent" and event.get("tool_name") == "finish":
            return str((event.get("action") or {}).get("message", ""))
        if event["kind"] == "MessageEvent" and event.get("source") == "agent":
            content = event["llm_message"].get("content") or []
            return "".join(part.get("text", "") for part in content)
    return ""


def _branch_backwards(row: Conversation) -> Iterator[dict[str, Any]]:
    """The events from the leaf towards the root, read in chunks."""
    wanted, last = row.leaf_event_id, None
    while wanted is not None:
        rows = Event.objects.of(row.id).order_by("-sequence")
        if last is not None:
            rows = rows.filter(sequence__lt=last)
        chunk = list(rows.values_list("sequence", "event_id", "payload")[:CHUNK])
        if not chunk:
            return
        for _, event_id, payload in chunk:
            if event_id == wanted:
                event = orjson.loads(payload)
                yield event
                wanted = event.get("parent_id")
        last = chunk[-1][0]
