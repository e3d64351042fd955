"""DatabaseFileStore: the SDK's FileStore over our rows.

The SDK writes two kinds of files: ``base_state.json`` is columns of the conversation's row, each
``events/event-NNNNN-ID.json`` is an event's row. The marker files and the lock are only there for
several writers on one disk: here they live in memory, as ``run_epoch`` fences other writers.
Every write goes through the writer thread and returns after commit; rings follow the commit.
"""

import re
import threading
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import orjson
from django.db.models import Case, F, Value, When
from django.utils import timezone
from openhands.sdk.io import FileStore

from agentserver import live, writer
from agentserver.observability import metrics
from conversations import signals, texts
from conversations.models import Command, Conversation, Event, group_of

BASE_STATE = "base_state.json"
_EVENT = re.compile(r"events/event-(\d+)-(.+)\.json$")
_UNSET: Any = object()


class Fenced(RuntimeError):
    """Somebody else has claimed the conversation, or it is gone: this process writes no more."""


class DatabaseFileStore(FileStore):
    """The files of one conversation. Thread-safe; writers wait for their commit."""

    def __init__(self, conversation_id: uuid.UUID, epoch: int = 0) -> None:
        self.conversation_id, self.epoch = conversation_id, epoch
        self.group = group_of(conversation_id)
        # Set by the live conversation: the info JSON and the status to show with a saved state.
        self.describe: Callable[[], str] = lambda: ""
        self.shown_status: Callable[[str], str] = lambda status: status
        self.run_number = 0  # the run whose steps are written
        self.frozen = False  # a copy for questions: what it would write is dropped
        # The command whose effect the next event of this thread is; removed in its transaction.
        self._delivering = threading.local()
        self._lock = threading.RLock()
        self._payloads: dict[str, str] = {}
        self._marker: str | None = None
        self._draft: str | None = None
        self._created = False
        self.next_sequence = 0

    # Creating and loading

    @classmethod
    def load(cls, row: Conversation) -> "DatabaseFileStore":
        """The store of an existing row, its events read in one query. Not on an event loop."""
        store = cls(row.id, row.run_epoch)
        store._created, store._draft = True, _with_leaf(row)
        rows = Event.objects.of(row.id).order_by("sequence").values_list("sequence", "event_id", "payload")
        for sequence, event_id, payload in rows.iterator(chunk_size=1000):
            store._payloads[f"events/event-{sequence:05d}-{event_id}.json"] = payload
        store.next_sequence = len(store._payloads)
        store._marker = _marker_path(store.next_sequence)
        return store

    def create(self, row: Conversation, commands: list[Command], admit: Callable[[], None]) -> None:
        """Insert the row with the state written so far, and its first commands, in one transaction.

        ``admit`` is called last in it; what it raises undoes it. Raises IntegrityError if the id exists.
        """
        row.base_state, row.info = self._draft or "", self.describe()
        row.run_epoch = self.epoch

        def operation() -> None:
            Conversation.objects.bulk_create([row])
            for command in commands:
                command.pk = None
                command.save(force_insert=True)
            if any(command.run for command in commands):
                Conversation.objects.filter(pk=row.pk).update(intent=commands[-1].pk)
            admit()
            signals.changed.send(sender=Conversation, conversation_id=row.id)

        writer.current().call(operation)
        self._created, self._draft = True, None

    def is_current(self) -> bool:
        """Whether the row is still this process's to write. Not on an event loop."""
        return Conversation.objects.living().filter(id=self.conversation_id, run_epoch=self.epoch).exists()

    @contextmanager
    def delivering(self, number: int) -> Generator[None]:
        """Within it, the message event this thread appends deletes command ``number``."""
        self._delivering.number = number
        try:
            yield
        finally:
            self._delivering.number = None

    @contextmanager
    def together(self, run: Callable[[], Any]) -> Generator[list[Any]]:
        """Within it, the event this thread appends is committed in one transaction with ``run``.

        Yields a list that holds what ``run`` returned, last, once the event is written.
        """
        results: list[Any] = []
        self._delivering.also = lambda: results.append(run())
        try:
            yield results
        finally:
            self._delivering.also = None

    # FileStore

    def write(self, path: str, contents: str | bytes) -> None:
        if self.frozen:
            return
        text = contents.decode() if isinstance(contents, bytes) else contents
        if path == BASE_STATE:
            self._write_state(texts.storable(text))
        elif match := _EVENT.match(path):
            self._write_event(int(match[1]), match[2], texts.storable(text))
        else:
            self._marker = path

    def read(self, path: str) -> str:
        if path == BASE_STATE and self._draft:
            text, self._draft = self._draft, None
            return text
        if path in self._payloads:
            return self._payloads.pop(path)  # the event log keeps what it has parsed
        raise FileNotFoundError(path)

    def list(self, path: str) -> list[str]:
        return list(self._payloads)

    def delete(self, path: str) -> None:
        if path == self._marker:
            self._marker = None

    def exists(self, path: str) -> bool:
        return path == self._marker or path in self._payloads

    def get_absolute_path(self, path: str) -> str:
        return path

    @contextmanager
    def lock(self, path: str, timeout: float = 30.0) -> Generator[None]:
        if not self._lock.acquire(timeout=timeout):
            raise TimeoutError(path)
        try:
            yield
        finally:
            self._lock.release()

    # Writing rows

    def _write_state(self, text: str) -> None:
        if not self._created:
            self._draft = text  # the row comes with ``create``
            return
        state = orjson.loads(text)
        changes = {
            "base_state": text,
            "info": self.describe(),
            "status": self._status(state.get("execution_status", "idle")),
            "leaf_event_id": state.get("leaf_event_id"),
        }
        if state.get("execution_status") == "running":
            changes["begun_run"] = self.run_number
        writer.current().call(lambda: self._update(changes))

    def _status(self, saved: str) -> Case:
        """What the row shows with a state: a run that was claimed, and that this is not, is not hidden."""
        later = When(status="running", run_number__gt=self.run_number, then=F("status"))
        return Case(later, default=Value(self.shown_status(saved)))

    def _write_event(self, sequence: int, event_id: str, payload: str) -> None:
        began = time.perf_counter()
        columns = texts.columns(payload)
        number, also = getattr(self._delivering, "number", None), getattr(self._delivering, "also", None)
        changes: dict[str, Any] = {"next_sequence": sequence + 1}
        if columns["kind"] != "ConversationStateUpdateEvent":
            changes["leaf_event_id"] = event_id  # never behind the log, whenever the process dies
        if columns["kind"] != "MessageEvent" or columns["source"] != "user":
            number = None
        event = Event(
            conversation_id=self.conversation_id,
            sequence=sequence,
            event_id=event_id,
            payload=payload,
            **columns,
        )

        def operation() -> None:
            try:
                self._update(changes, next_sequence=sequence)
            except Fenced:
                # The commit was made, and its answer lost with the connection.
                if (
                    self.is_current()
                    and Event.objects.of(self.conversation_id).filter(event_id=event_id).exists()
                ):
                    return
                raise
            event.pk = None
            event.save(force_insert=True)
            if number is not None:
                Command.objects.filter(number=number).delete()
            if also is not None:
                also()

        writer.current().call(
            operation, lambda _: live.ring(self.group, sequence, payload, previous=sequence - 1)
        )
        self.next_sequence = sequence + 1
        metrics.EVENT_APPEND.observe(time.perf_counter() - began)

    def _update(self, changes: dict[str, Any], **conditions: Any) -> None:
        """Change the row if it is still ours. On the writer thread. Raises Fenced."""
        rows = Conversation.objects.filter(id=self.conversation_id, run_epoch=self.epoch, **conditions)
        if not rows.exclude(status="deleting").update(updated_at=timezone.now(), **changes):
            raise Fenced(f"Conversation {self.conversation_id} is no longer this process's to write.")


def _with_leaf(row: Conversation) -> str:
    """The saved state with the row's leaf: the state may have been saved before the last event."""
    state = orjson.loads(row.base_state)
    if row.leaf_event_id and state.get("leaf_event_id") != row.leaf_event_id:
        state["leaf_event_id"] = row.leaf_event_id
        state["head_is_empty"] = False
    return orjson.dumps(state).decode()


def _marker_path(length: int) -> str:
    return f"events/.eventlog-len-{length}.marker"
