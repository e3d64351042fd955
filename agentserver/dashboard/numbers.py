"""The numbers of the operations page: from rows, what all processes share; from metrics, this one's."""

import time
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, Min

from agentserver import conf, lifespan
from agentserver.dashboard import samples
from agentserver.dashboard.listing import LABELS
from agentserver.observability import metrics
from agentserver.webhooks import reads
from bashevents.models import BashEvent
from conversations import tallies
from conversations.models import Conversation, Event

SHOWN = 20
"""Running conversations and runners that are named."""
FRESH_SECONDS = 30.0
"""How old the sizes of tables may be."""


def operations(since: float) -> dict[str, Any]:
    """All of the page as JSON. ``since``: Unix seconds of the newest sample the page has. Five queries."""
    running = Conversation.objects.running().order_by("updated_at", "id")
    rows = running.values_list("id", "title", "runner", "updated_at")[:SHOWN]
    counts = tallies.by_status()
    return {
        "samples": samples.since(since),
        "statuses": [[str(status), label, counts.get(status, 0)] for status, label in LABELS.items()],
        "queued": Conversation.objects.living()
        .filter(intent__isnull=False)
        .exclude(status="running")
        .count(),
        "runners": _runners(),
        "running": [
            {
                "id": str(row[0]),
                "title": row[1] or f"Conversation {row[0].hex[:8]}",
                "runner": row[2],
                "at": row[3],
            }
            for row in rows
        ],
        "process": _process(),
        "stored": _stored(),
        "webhooks": reads.backlog(),
    }


def _runners() -> list[dict[str, Any]]:
    """Who runs how many, by the rows; the limit is that of each process."""
    held = Conversation.objects.running().order_by().values("runner")
    found = held.annotate(running=Count("id"), since=Min("heartbeat_at")).order_by("runner")[:SHOWN]
    return [{**one, "limit": conf.current().max_concurrent_runs} for one in found]


def _process() -> dict[str, Any]:
    gauge = {name: samples.total(metric, "") for name, metric in _GAUGES.items()}
    return {
        **gauge,
        "uptime": time.monotonic() - lifespan.started_at,
        "llm_p50": samples.quantile(metrics.LLM_SECONDS, 0.5),
        "llm_p95": samples.quantile(metrics.LLM_SECONDS, 0.95),
        "llm_calls": samples.total(metrics.LLM_SECONDS, "_count"),
        "llm_errors": samples.total(metrics.LLM_ERRORS),
        "interrupt_p50": samples.quantile(metrics.INTERRUPT, 0.5),
        "interrupt_p95": samples.quantile(metrics.INTERRUPT, 0.95),
        "interrupts": samples.total(metrics.INTERRUPT, "_count"),
        "append_p95": samples.quantile(metrics.EVENT_APPEND, 0.95),
        "memory": metrics.REGISTRY.get_sample_value("process_resident_memory_bytes"),
    }


_GAUGES = {
    "lanes_busy": metrics.LANES_BUSY,
    "lanes_limit": metrics.LANES_LIMIT,
    "loaded": metrics.CONVERSATIONS_LOADED,
    "sockets": metrics.SOCKETS_OPEN,
    "bash_running": metrics.BASH_RUNNING,
    "writer_queue": metrics.WRITER_QUEUE,
    "disk_free": metrics.DISK_FREE,
}
_kept: tuple[float, dict[str, int]] | None = None


def _stored() -> dict[str, int]:
    """Bytes of the database, and rows; counted anew at most every FRESH_SECONDS."""
    global _kept
    if _kept is None or time.monotonic() - _kept[0] > FRESH_SECONDS:
        counts = {"events": Event.objects.count(), "bash_events": BashEvent.objects.count()}
        _kept = time.monotonic(), {"bytes": _database_bytes(), **counts}
    return _kept[1]


def _database_bytes() -> int:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
        else:
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        return cursor.fetchone()[0]


def engine() -> str:
    return "PostgreSQL" if "postgresql" in settings.DATABASES["default"]["ENGINE"] else "SQLite"
