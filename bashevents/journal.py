"""Appending to the table through the writer thread: commit first, ring after, in one order."""

import datetime
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from django.db import connection
from django.utils import timezone

from agentserver import live, writer
from bashevents.models import GROUP, BashEvent, Kind
from bashevents.serializers import ExecuteRequest, command_payload, new_id, output_content, output_payload

_LOCK = 0x62617368
"""Key of the PostgreSQL advisory lock under which rows are numbered."""


@dataclass(frozen=True, slots=True)
class Order:
    """A command that has been asked for."""

    id: uuid.UUID
    conversation_id: uuid.UUID | None
    body: ExecuteRequest

    @property
    def group(self) -> str:
        return GROUP if self.conversation_id is None else f"{GROUP}.{self.conversation_id.hex}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of output, at most a MiB of characters; the last has the exit code."""

    order: int
    stdout: str
    stderr: str
    exit_code: int | None = None

    def content(self, command_id: uuid.UUID) -> str:
        return output_content(
            command_id=command_id,
            order=self.order,
            exit_code=self.exit_code,
            stdout=self.stdout,
            stderr=self.stderr,
        )


Row = tuple[int, str]
"""Primary key and payload."""


class _Clock:
    """Times that rise with every call, so that the order of times is the order of rows."""

    def __init__(self) -> None:
        self._last = datetime.datetime.min.replace(tzinfo=datetime.UTC)

    def next(self) -> datetime.datetime:
        self._last = max(timezone.now(), self._last + datetime.timedelta(microseconds=1))
        return self._last


_clock = _Clock()
_newest: int | None = None


def append_command(order: Order, *, runner: str, after: Callable[[], None]) -> str:
    """Write the command, ring, call ``after`` on the writer thread; its payload. Waits for the commit."""

    def run() -> Row:
        _number_in_commit_order()
        moment = _clock.next()
        payload = command_payload(order.id, moment, order.body)
        row = BashEvent(
            event_id=order.id,
            conversation_id=order.conversation_id,
            kind=Kind.COMMAND,
            timestamp=moment,
            command_id=order.id,
            size=len(payload),
            payload=payload,
            runner=runner,
            deadline=_deadline(moment, order.body.timeout),
        )
        row.save(force_insert=True)
        return row.pk, payload

    def tell(row: Row) -> None:
        _ring(order.group, row)
        after()

    return writer.current().call(run, tell)[1]


def append_outputs(
    order: Order, chunks: Sequence[Chunk], *, after: Callable[[str], None] | None = None
) -> Future[list[Row]]:
    """Queue ``chunks`` for writing, in order; the one with an exit code ends the command.

    ``after`` gets the payload of the last on the writer thread, once committed and rung. Any thread.
    """
    contents = [(chunk, chunk.content(order.id)) for chunk in chunks]

    def run() -> list[Row]:
        _number_in_commit_order()
        return [_insert_output(order, chunk, content) for chunk, content in contents]

    def tell(rows: list[Row]) -> None:
        for row in rows:
            _ring(order.group, row)
        if after is not None:
            after(rows[-1][1])

    return writer.current().submit(run, tell)


def _insert_output(order: Order, chunk: Chunk, content: str) -> Row:
    moment, event_id = _clock.next(), new_id()
    payload = output_payload(event_id, moment, content)
    row = BashEvent(
        event_id=event_id,
        conversation_id=order.conversation_id,
        kind=Kind.OUTPUT,
        timestamp=moment,
        command_id=order.id,
        order=chunk.order,
        exit_code=chunk.exit_code,
        size=len(payload),
        payload=payload,
    )
    row.save(force_insert=True)
    if chunk.exit_code is not None:
        BashEvent.objects.filter(event_id=order.id).update(runner="", deadline=None, finished_at=moment)
    return row.pk, payload


def _number_in_commit_order() -> None:
    """Where several processes write, let none commit a lower number after a higher one is seen."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _ring(group: str, row: Row) -> None:
    """Ring with the number before this one, which only a process that writes alone knows."""
    global _newest
    number, payload = row
    if group != GROUP or connection.vendor != "sqlite":
        live.ring(group, number, payload)
        return
    live.ring(group, number, payload, previous=_newest)
    _newest = number


def _deadline(moment: datetime.datetime, timeout: int) -> datetime.datetime:
    """When it has surely ended: its time limit and what ending it may take. At most ten years."""
    return moment + datetime.timedelta(seconds=min(max(timeout, 0), 10 * 365 * 86_400) + 60)
