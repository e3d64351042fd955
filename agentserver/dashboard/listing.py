"""The list of conversations: what the URL asks for, and what a row shows. At most six queries a page."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import orjson
from django.db.models import Count

from agentserver.auth.principals import Principal
from conversations import owners, reads
from conversations.models import Conversation, Event, Status
from conversations.querysets import ConversationQuerySet

ROWS = 25
SORTS = {
    "updated": ("Last activity", "UPDATED_AT_DESC"),
    "created": ("Newest first", "CREATED_AT_DESC"),
    "oldest": ("Oldest first", "CREATED_AT"),
}
LABELS = {
    Status.RUNNING: "Running",
    Status.WAITING: "Needs approval",
    Status.IDLE: "Idle",
    Status.PAUSED: "Paused",
    Status.FINISHED: "Finished",
    Status.ERROR: "Failed",
    Status.STUCK: "Stuck",
}
LONGEST = 200
"""Characters of a search."""


@dataclass(frozen=True, slots=True)
class Query:
    """The list as its URL says; what makes no sense is left out.

    ``page`` is the place that a page begins at, ``until`` the one that it ends before.
    """

    text: str = ""
    status: str = ""
    owner: str = ""
    sort: str = "updated"
    page: str = ""
    until: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Query":
        texts = {name: str(given.get(name, ""))[:LONGEST].replace("\0", "").strip() for name in _NAMES}
        return cls(
            text=texts["q"],
            status=texts["status"] if texts["status"] in LABELS else "",
            owner=texts["owner"],
            sort=texts["sort"] if texts["sort"] in SORTS else "updated",
            page=texts["page"],
            until=texts["until"],
        )

    def link(self, **changes: str) -> str:
        """The query string of this list with ``changes``; a change leads to the first page."""
        parts = {"q": self.text, "status": self.status, "owner": self.owner, "sort": self.sort, **changes}
        return urlencode({key: value for key, value in parts.items() if value and (key, value) != DEFAULT})

    @property
    def first(self) -> str:
        """The query string of the first page."""
        return self.link()

    @property
    def narrow(self) -> bool:
        """Whether it leaves conversations out."""
        return bool(self.text or self.status or self.owner)

    @property
    def sorts(self) -> list[tuple[str, str]]:
        return [(value, label) for value, (label, _) in SORTS.items()]


_NAMES = ("q", "status", "owner", "sort", "page", "until")
DEFAULT = ("sort", "updated")


@dataclass(frozen=True, slots=True)
class Row:
    """A conversation as people see it. Cost in US dollars."""

    id: uuid.UUID
    name: str
    status: str
    label: str
    owner: str
    model: str
    workspace: str
    created_at: datetime
    updated_at: datetime
    tags: dict[str, str]
    tokens: int
    cost: float
    steps: int = 0
    events: int = 0
    demo: bool = False
    parent_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A page of the list. ``filters``: (status, label, count, link) of each status there is.

    ``previous`` and ``following`` are query strings, empty where there is no such page; ``owners`` are
    (value, label) of those to choose from.
    """

    rows: list[Row]
    previous: str
    following: str
    total: int
    filters: list[tuple[str, str, int, str]] = field(default_factory=list)
    owners: list[tuple[str, str]] = field(default_factory=list)


def page(*, principal: Principal, query: Query) -> Found:
    """One page of what ``principal`` may see."""
    rows = Conversation.objects.visible_to(principal).living()
    if query.owner:
        rows = owners.owned(rows, query.owner)
    if query.text:
        rows = reads.conversations_found(rows=rows, text=query.text)
    # The statuses are named for the index that begins with them; the page is found by its order.
    counted = rows.filter(status__in=list(LABELS)).order_by().values_list("status")
    counts = dict(counted.annotate(Count("id")))
    if query.status:
        rows = rows.filter(status=query.status)
    found, previous, following = _cut(
        rows.select_related("owner").defer("base_state", "request", "goal"), query
    )
    return Found(
        rows=_described(found),
        previous=query.link(until=previous) if previous else "",
        following=query.link(page=following) if following else "",
        total=sum(counts.values()),
        filters=_filters(query, counts),
        owners=owners.choices(query.owner) if principal.operator else [],
    )


def _cut(rows: ConversationQuerySet, query: Query) -> tuple[list[Conversation], str, str]:
    """The rows of the page, and the places of the pages before and after it."""
    sort = SORTS[query.sort][1]
    if query.until:
        found, more = reads.conversation_page_before(rows=rows, sort=sort, limit=ROWS, page_id=query.until)
        if more:
            return found, reads.place_of(found[0], sort), query.until
    page_id = "" if query.until else query.page  # nothing is before the first page, which has to be full
    found, following = reads.conversation_page(rows=rows, sort=sort, limit=ROWS, page_id=page_id)
    previous = reads.place_of(found[0], sort) if found and page_id else ""
    return found, previous, following or ""


def _filters(query: Query, counts: Mapping[str, int]) -> list[tuple[str, str, int, str]]:
    shown = [(status, label) for status, label in LABELS.items() if counts.get(status)]
    every = ("", "All", sum(counts.values()), query.link(status=""))
    return [every, *((str(s), label, counts[s], query.link(status=str(s))) for s, label in shown)]


def described(row: Conversation) -> Row:
    """One conversation, all of its fields loaded."""
    return _described([row])[0]


def _described(rows: Sequence[Conversation]) -> list[Row]:
    ids = [row.id for row in rows]
    actions = Event.objects.filter(conversation_id__in=ids, kind="ActionEvent").order_by()
    steps = dict(actions.values_list("conversation_id").annotate(Count("id")))
    return [_row(row, steps.get(row.id, 0)) for row in rows]


def _row(row: Conversation, steps: int) -> Row:
    info = orjson.loads(row.info or "{}")
    llm = (info.get("agent") or {}).get("llm") or {}
    tokens, cost = _usage(info)
    return Row(
        id=row.id,
        name=row.title or f"Conversation {row.id.hex[:8]}",
        status=row.status,
        label=LABELS.get(Status(row.status), row.status),
        owner=row.owner.get_username() if row.owner else "",
        model=str(llm.get("model") or (info.get("agent") or {}).get("kind", "")),
        workspace=row.workspace_dir,
        created_at=row.created_at,
        updated_at=row.updated_at,
        tags=orjson.loads(row.tags or "{}"),
        tokens=tokens,
        cost=cost,
        steps=steps,
        events=row.next_sequence,
        demo=str(llm.get("base_url") or "").rstrip("/").endswith("/demo/v1"),
        parent_id=row.parent_id,
    )


def _usage(info: Mapping[str, Any]) -> tuple[int, float]:
    """Tokens and dollars of all models together."""
    metrics = ((info.get("stats") or {}).get("usage_to_metrics") or {}).values()
    used = [one.get("accumulated_token_usage") or {} for one in metrics]
    tokens = sum(one.get("prompt_tokens", 0) + one.get("completion_tokens", 0) for one in used)
    return tokens, sum(one.get("accumulated_cost") or 0 for one in metrics)
