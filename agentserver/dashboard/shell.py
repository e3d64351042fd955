"""The rows behind the bash page: recent commands, how much is kept and until when, pruning by hand."""

import datetime
import threading
import time
import uuid
from dataclasses import dataclass
from typing import Any

import orjson
from django.db.models import Avg, Count
from django.utils import timezone

from agentserver import conf
from agentserver.errors import invalid
from bashevents.models import BashEvent, Kind
from bashevents.retention import Pruning

COMMANDS = 30
"""Commands of one answer."""
LONGEST = 20_000
"""Characters of a command that is shown."""
SAMPLE = 500
"""Newest and oldest events whose sizes are averaged: a sum would read every row."""
FRESH_SECONDS = 15.0
"""How old the counts may be: counting a million rows takes a tenth of a second."""
PRUNE_SECONDS = 20.0
"""How long a request prunes; then it says that there is more."""
AGES = {"1h": 3600, "1d": 86_400, "7d": 7 * 86_400, "30d": 30 * 86_400}


def commands(before: str) -> list[dict[str, Any]]:
    """The newest commands of the server's own shell, older than row ``before`` if one is given."""
    rows = BashEvent.objects.of(None).filter(kind=Kind.COMMAND).order_by("-id")
    if before:
        if not (before.isascii() and before.isdigit() and len(before) <= 18):
            raise invalid(["query", "before"], "Input should be a whole number")
        rows = rows.filter(id__lt=int(before))
    columns = rows.values_list("id", "event_id", "runner", "payload")[:COMMANDS]
    found = [_command(*row) for row in columns]
    codes = _exit_codes([uuid.UUID(one["id"]) for one in found])
    return [{**one, "exit_code": codes.get(one["id"])} for one in found]


def _command(row: int, event_id: uuid.UUID, runner: str, payload: str) -> dict[str, Any]:
    event = orjson.loads(payload)
    return {
        "row": row,
        "id": event_id.hex,
        "timestamp": event["timestamp"],
        "command": event["command"][:LONGEST],
        "cwd": event["cwd"],
        "running": bool(runner),
    }


def _exit_codes(ids: list[uuid.UUID]) -> dict[str, int]:
    ended = BashEvent.objects.filter(command_id__in=ids, kind=Kind.OUTPUT).exclude(exit_code=None)
    return {command.hex: code for command, code in ended.values_list("command_id", "exit_code")}


@dataclass(frozen=True, slots=True)
class Kept:
    """What is stored. ``characters`` is an estimate; ``goes_at``: when the oldest is pruned by itself."""

    events: int
    characters: int
    oldest: datetime.datetime | None
    retention: float | None
    goes_at: datetime.datetime | None


_kept: tuple[float, Kept] | None = None


def kept() -> Kept:
    """Counted anew at most every FRESH_SECONDS."""
    global _kept
    if _kept is None or time.monotonic() - _kept[0] > FRESH_SECONDS:
        _kept = time.monotonic(), _count()
    return _kept[1]


def _count() -> Kept:
    events = BashEvent.objects.aggregate(number=Count("id"))["number"]
    ends = (BashEvent.objects.order_by("id")[:SAMPLE], BashEvent.objects.order_by("-id")[:SAMPLE])
    averages = [rows.aggregate(average=Avg("size"))["average"] or 0 for rows in ends]
    oldest = BashEvent.objects.order_by("timestamp", "id").values_list("timestamp", flat=True).first()
    retention = conf.current().bash_events_retention_seconds
    goes = oldest + datetime.timedelta(seconds=retention) if oldest and retention is not None else None
    return Kept(events, round(events * sum(averages) / 2), oldest, retention, goes)


def ages() -> dict[str, float]:
    """How old what is pruned may be chosen to be: seconds by name, the retention first."""
    retention = conf.current().bash_events_retention_seconds
    return {**({"retention": retention} if retention is not None else {}), **AGES}


def prunable(age: str) -> int:
    """How many events would go. Raises Invalid (422)."""
    return BashEvent.objects.prunable(_cutoff(age)).count()


def prune(age: str) -> tuple[int, bool]:
    """Delete what is older; how many went, and whether there is more. Raises Invalid (422)."""
    global _kept
    pruning = Pruning(_cutoff(age))
    limit = threading.Timer(PRUNE_SECONDS, pruning.ended.set)
    limit.start()
    try:
        count = pruning.run()
    finally:
        limit.cancel()
        _kept = None
    return count, pruning.ended.is_set()


def _cutoff(age: str) -> datetime.datetime:
    if age not in ages():
        raise invalid(["body", "age"], "Choose one of the ages")
    return timezone.now() - datetime.timedelta(seconds=ages()[age])
