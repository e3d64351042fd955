"""The read side of webhooks: what people and programs see of them, and how much waits."""

import threading
import time
from typing import Any

from django.db.models import Count, F, OuterRef, Q, Subquery, Sum

from agentserver.webhooks import hooks
from agentserver.webhooks.models import Delivery, Webhook
from conversations.models import Event

MASK = "**********"
SHARE = 50
"""The backlog is counted again after fifty times what counting took, and not within ten seconds."""

_counted: tuple[float, dict[str, int]] | None = None
_lock = threading.Lock()


def view(row: Webhook) -> dict[str, Any]:
    """The wire's form of a webhook: of its headers the names, of its secret whether there is one."""
    return {
        "id": row.pk,
        "source": "database" if row.key is None else "environment",
        "base_url": row.base_url,
        "headers": dict.fromkeys(_header_names(row), MASK),
        "secret_set": _has_secret(row),
        **_numbers(row),
        "enabled": row.enabled,
        "disabled_reason": row.disabled_reason or None,
        "failing_since": _time(row.failing_since),
        "last_error": row.last_error or None,
        "created_at": _time(row.created_at),
    }


def _numbers(row: Webhook) -> dict[str, Any]:
    names = ("event_buffer_size", "flush_delay", "num_retries", "retry_delay")
    source = row if row.key is None else hooks.configured()[row.key]
    return {name: getattr(source, name) for name in names}


def _header_names(row: Webhook) -> list[str]:
    if row.key is not None:
        return sorted(hooks.configured()[row.key].headers)
    try:
        return sorted(hooks.headers_of(row))
    except ValueError:
        return []


def _has_secret(row: Webhook) -> bool:
    if row.key is not None:
        return bool(hooks.configured()[row.key].secret)
    try:
        return hooks.secret_of(row) is not None
    except ValueError:  # no key of ours opens it: it counts as unset
        return False


def listed(*, owner: int | None) -> list[dict[str, Any]]:
    return [view(row) for row in hooks.rows().filter(owner=owner).order_by("id")]


def delivery_page(
    *, row: Webhook, behind: bool, limit: int, after: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Deliveries by age, those ``behind`` alone or all, and the id of the next page."""
    rows = Delivery.objects.filter(webhook=row, id__gt=after).order_by("id")
    rows = with_newest(rows.behind() if behind else rows)
    found = list(rows[: limit + 1])
    following = str(found[limit - 1].pk) if len(found) > limit else None
    return [_delivery(one) for one in found[:limit]], following


def with_newest(rows):
    """``rows`` with ``newest``, the conversation's last event; None before there is one."""
    events = Event.objects.filter(conversation_id=OuterRef("conversation_id")).order_by("-sequence")
    return rows.annotate(newest=Subquery(events.values("sequence")[:1]))


def waiting(row: Any) -> int:
    """Events a delivery of ``with_newest`` has yet to post."""
    return max(0, (-1 if row.newest is None else row.newest) + 1 - max(row.posted, 0))


def _delivery(row: Any) -> dict[str, Any]:
    return {
        "conversation_id": str(row.conversation_id),
        "accepted_events": max(row.posted, 0),
        "waiting_events": waiting(row),
        "waiting_announcement": row.wanted > row.announced,
        "failures": row.failures,
        "next_try_at": _time(row.next_at) if row.failures else None,
        "last_error": row.last_error or None,
        "accepted_at": _time(row.accepted_at),
    }


def backlog() -> dict[str, int]:
    """How much waits, of the whole database: ``webhooks``, of them ``disabled`` and ``failing``; the
    ``conversations`` and ``events`` that enabled webhooks have yet to hear of, each counted once for
    every webhook. Any thread that may use the ORM. Costs at most a fiftieth of one thread's time.
    """
    global _counted
    with _lock:
        now = time.monotonic()
        if _counted is None or now >= _counted[0]:
            found = _count()
            took = time.monotonic() - now
            _counted = (now + max(10, SHARE * took), found)
        return dict(_counted[1])


def _count() -> dict[str, int]:
    rows = hooks.rows()
    webhooks = rows.aggregate(
        webhooks=Count("id"),
        disabled=Count("id", filter=Q(enabled=False)),
        failing=Count("id", filter=Q(enabled=True, failing_since__isnull=False)),
    )
    behind = with_newest(Delivery.objects.filter(webhook__in=rows.filter(enabled=True)).behind())
    waiting = behind.aggregate(
        conversations=Count("conversation", distinct=True), events=Sum(F("newest") + 1 - F("posted"))
    )
    return {**webhooks, "conversations": waiting["conversations"], "events": waiting["events"] or 0}


def _time(moment: Any) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
