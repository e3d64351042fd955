"""The reference's directory of bash events and our rows: reading one into the other, and back.

<time>_BashCommand_<id>    <time>_BashOutput_<command id>_<id>
"""

import datetime
import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from django.db import transaction

from bashevents.models import BashEvent, Kind
from conversations.exchange import Unusable

_NAME = re.compile(r"\d{14,20}_(BashCommand|BashOutput)_[0-9a-f_]+")
BATCH = 50


def read(directory: Path) -> int:
    """Store the events of ``directory`` that are not here yet; how many those were.

    A command without an end has ended all the same: its process is long gone. Raises Unusable.
    """
    events = sorted((_parsed(p) for p in directory.iterdir() if _NAME.fullmatch(p.name)), key=_order)
    with transaction.atomic():
        ids = {uuid.UUID(event["id"]) for event in events}
        known = set(BashEvent.objects.filter(event_id__in=ids).values_list("event_id", flat=True))
        rows = [_row(event) for event in events if uuid.UUID(event["id"]) not in known]
        _finish(rows)
        BashEvent.objects.bulk_create(rows, batch_size=BATCH)
    return len(rows)


def write(directory: Path) -> int:
    """Write the events of the server's own shell into ``directory``; how many there are."""
    directory.mkdir(parents=True)
    count = 0
    for event in _stored():
        text = json.dumps(orjson.loads(event.payload), indent=2, ensure_ascii=False)
        (directory / _name(event)).write_bytes(text.encode("utf-8", "backslashreplace"))
        count += 1
    return count


def _stored() -> Iterator[BashEvent]:
    rows = BashEvent.objects.filter(conversation_id=None).order_by("pk")
    return rows.iterator(chunk_size=BATCH)


def _name(event: BashEvent) -> str:
    ids = event.event_id.hex
    if event.kind == Kind.OUTPUT:
        ids = f"{event.command_id.hex}_{ids}"
    moment = event.timestamp.astimezone(datetime.UTC)
    return f"{moment:%Y%m%d%H%M%S%f}_{event.kind}_{ids}"


def _parsed(path: Path) -> dict[str, Any]:
    try:
        event = orjson.loads(path.read_bytes())
        uuid.UUID(event["id"])
        _moment(event)
    except (OSError, ValueError, KeyError, TypeError):
        raise Unusable(f"{path.name} is no bash event") from None
    return event


def _moment(event: dict[str, Any]) -> datetime.datetime:
    return datetime.datetime.fromisoformat(event["timestamp"])


def _order(event: dict[str, Any]) -> tuple[datetime.datetime, int]:
    return _moment(event), -1 if event["kind"] == Kind.COMMAND else event["order"]


def _row(event: dict[str, Any]) -> BashEvent:
    payload = orjson.dumps(event).decode()
    command_id = event["id"] if event["kind"] == Kind.COMMAND else event["command_id"]
    return BashEvent(
        event_id=uuid.UUID(event["id"]),
        kind=event["kind"],
        timestamp=_moment(event),
        command_id=uuid.UUID(command_id),
        order=event.get("order"),
        exit_code=event.get("exit_code"),
        size=len(payload),
        payload=payload,
    )


def _finish(rows: list[BashEvent]) -> None:
    ends = {row.command_id: row.timestamp for row in rows}
    for row in rows:
        if row.kind == Kind.COMMAND:
            row.finished_at = ends[row.command_id]
