"""The list of conversations: what the URL asks for, and what a row shows. Four queries a page."""

import contextlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import orjson
from django.db.models import Count, Q, QuerySet

from agentserver.auth.principals import Principal
from conversations import reads
from conversations.models import Conversation, Event, Status

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
    """The list as its URL says; what makes no sense is left out."""

    text: str = ""
    status: str = ""
    sort: str = "updated"
    page: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Query":
        text = str(given.get("q", ""))[:LONGEST].replace("\0", "").strip()
        status, sort = str(given.get("status", "")), str(given.get("sort", ""))
        return cls(
            text=text,
            status=status if status in LABELS else "",
            sort=sort if sort in SORTS else "updated",
            page=str(given.get("page", ""))[:60],
        )

    def link(self, **changes: str) -> str:
        """The query string of this list with ``changes``; a change leads to the first page."""
        parts = {"q": self.text, "sort": self.sort, **changes}
        return urlencode({key: value for key, value in parts.items() if value and (key, value) != DEFAULT})

    @property
    def first(self) -> str:
        """The query string of the first page."""
        return self.link(status=self.status)

    @property
    def sorts(self) -> list[tuple[str, str]]:
        return [(value, label) for value, (label, _) in SORTS.items()]


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
    """A page of the list. ``filters``: (status, label, count, link) of each status there is."""

    rows: list[Row]
    older: str
    total: int
    filters: list[tuple[str, str, int, str]] = field(default_factory=list)


def page(*, principal: Principal, query: Query) -> Found:
    """One page of what ``principal`` may see."""
    everything = Conversation.objects.visible_to(principal).living()
    rows = _searched(everything, query.text)
    counts = dict(rows.order_by().values_list("status").annotate(Count("id")))
    if query.status:
        rows = rows.filter(status=query.status)
    rows = rows.select_related("owner").defer("base_state", "request", "goal")
    sort = SORTS[query.sort][1]
    found, following = reads.conversation_page(rows=rows, sort=sort, limit=ROWS, page_id=query.page)
    older = query.link(status=query.status, page=following) if following else ""
    return Found(_described(found), older, sum(counts.values()), _filters(query, counts))


def _searched(rows: QuerySet, text: str) -> QuerySet:
    """By id, or by a part of title or workspace."""
    if not text:
        return rows
    with contextlib.suppress(ValueError):
        return rows.filter(id=uuid.UUID(text))
    return rows.filter(Q(title__icontains=text) | Q(workspace_dir__icontains=text))


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
