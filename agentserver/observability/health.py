"""What the server needs, part by part: whether it is there, and how long it took to find out.

Every check is quick and bounded, and runs on a worker thread. A room that has something to say
registers it with ``register``.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from django.db import connection

from agentserver import lifespan, migrating, sdk
from agentserver.live import hub
from agentserver.observability import disk

CHANNEL_LAYER_SECONDS = 2.0
"""What a ring may take to get to the channel layer."""
FULL = 8 * 1024 * 1024
"""Bytes free, below which the server counts as unable to write."""
LOW = 512 * 1024 * 1024
"""Bytes free, below which it says so."""


class Unwell(Exception):
    """A part is not there; its text says what to do."""


@dataclass(frozen=True, slots=True)
class Part:
    """``state``: ok, or another word for what works still; unavailable, with the reason in ``detail``."""

    name: str
    ok: bool
    state: str
    milliseconds: float
    detail: str = ""

    def shown(self) -> dict[str, Any]:
        return asdict(self)


Check = Callable[[], str]
"""Returns the state in a word. Raises Unwell, or anything else."""
_checks: dict[str, Check] = {}


def register(name: str, check: Check) -> None:
    """Have ``check`` asked whenever somebody wants to know whether the server is ready."""
    _checks[name] = check


def parts() -> list[Part]:
    """All parts, in the order they were registered. Worker thread."""
    return [_asked(name, check) for name, check in _checks.items()]


def _asked(name: str, check: Check) -> Part:
    began = time.perf_counter()
    try:
        state, ok, detail = check(), True, ""
    except Unwell as unwell:
        state, ok, detail = "unavailable", False, str(unwell)
    except Exception as error:
        state, ok, detail = "unavailable", False, f"It does not answer ({type(error).__name__})."
    return Part(name, ok, state, round((time.perf_counter() - began) * 1000, 2), detail)


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return "ok"


_migrated = False


def _migrations() -> str:
    """Looked at until they are complete: the code of a process does not change."""
    global _migrated
    if not _migrated and migrating.missing():
        raise Unwell("Tables are missing. Run: agentserver migrate")
    _migrated = True
    return "ok"


def _channel_layer() -> str:
    hub.reach(CHANNEL_LAYER_SECONDS)
    return "ok"


def _runner() -> str:
    if sdk.failure() is not None:
        raise Unwell("The agent SDK cannot be imported; the log says why.")
    missing = [*lifespan.waiting_for(), *([] if sdk.ready() else ["agent SDK"])]
    if missing:
        raise Unwell(f"Waiting for: {', '.join(missing)}")
    return "ok"


def _disk() -> str:
    free = disk.free_bytes()
    if free < FULL:
        raise Unwell(f"The disk is full: {free // 1024} KiB are free. Free some space.")
    return "ok" if free >= LOW else "low"


register("runner", _runner)
register("database", _database)
register("migrations", _migrations)
register("channel_layer", _channel_layer)
register("disk", _disk)
