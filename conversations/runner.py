"""The conversations of this process: loading, running, stopping and unloading them.

Everything here is called on worker threads, never on an event loop.
"""

import contextlib
import functools
import logging
import threading
import time
import uuid
from concurrent.futures import TimeoutError as FutureTimeout

from django.utils import timezone

from agentserver import threads, writer
from agentserver.causes import is_database_trouble
from agentserver.errors import NotFound
from agentserver.observability import metrics
from conversations import building, goals, intents, lanes, mending, subagents  # noqa: F401  (goals registers its command)
from conversations.lanes import Lane
from conversations.loaded import Loaded
from conversations.models import Conversation, Status

logger = logging.getLogger(__name__)

LOADED = 200
"""Conversations kept in memory at once beside the running ones; the longest unused go first."""
NAME = uuid.uuid4().hex
"""This process among the runners."""


class Runner:
    """Thread-safe."""

    def __init__(self) -> None:
        self.lanes = lanes.made()
        self._loaded: dict[uuid.UUID, Loaded] = {}
        self._loading: dict[uuid.UUID, threading.Lock] = {}
        self._lock = threading.Lock()
        self.closing = False
        self.mending = mending.Mending(self.consider)

    # In and out of memory

    def count(self) -> int:
        """Conversations in memory."""
        return len(self._loaded)

    def get(self, conversation_id: uuid.UUID, claimed: int = 0) -> Loaded:
        """The loaded conversation; loads it if needed, anew if it is broken. Raises NotFound.

        ``claimed``: the number of a run that the caller has claimed and is about to begin.
        """
        loaded = self._usable(conversation_id)
        if loaded is not None:
            return loaded
        with self._lock:
            lock = self._loading.setdefault(conversation_id, threading.Lock())
        with lock:
            loaded = self._usable(conversation_id) or self._load(conversation_id, claimed)
        with self._lock:
            self._loading.pop(conversation_id, None)
        return loaded

    def _usable(self, conversation_id: uuid.UUID) -> Loaded | None:
        loaded = self._loaded.get(conversation_id)
        if loaded is None or loaded.closed:
            return None
        # A run under which the rows broke is about to notice by itself.
        return loaded if loaded.running or not self.mending.is_broken(loaded.id) else None

    def adopt(self, loaded: Loaded) -> None:
        """Keep a conversation that was just created."""
        loaded.on_trouble = self.mending.add
        self._loaded[loaded.id] = loaded
        if len(self._loaded) > LOADED + self.lanes.limit:
            threads.waiting().submit(self.unload_idle, 0, LOADED)

    def _load(self, conversation_id: uuid.UUID, claimed: int) -> Loaded:
        row = writer.current().call(lambda: _claimed(conversation_id))
        loaded = building.load(row, self.lanes)
        try:
            self.mending.mend(loaded, claimed)
        except BaseException:
            loaded.close()
            raise
        given_up = self._loaded.get(conversation_id)
        self.adopt(loaded)
        if given_up is not None:
            given_up.close()
        return loaded

    def unload_idle(self, idle_seconds: float, keep: int = 0) -> None:
        """Close what has not been used for ``idle_seconds``, the longest unused first."""
        now = time.monotonic()
        resting = (
            c for c in list(self._loaded.values()) if not c.running and not self.mending.is_broken(c.id)
        )
        idle = sorted(resting, key=lambda c: c.used_at)
        for loaded in idle[: max(0, len(idle) - keep)]:
            if now - loaded.used_at >= idle_seconds:
                self._unload(loaded)

    def _unload(self, loaded: Loaded) -> None:
        with loaded.at_rest() as resting:
            if resting:
                self._loaded.pop(loaded.id, None)
                loaded.close()

    # Running and stopping

    def start(self, conversation_id: uuid.UUID, number: int, lane: Lane | None) -> None:
        """Begin the claimed run ``number``, in ``lane`` or in the next that is free."""
        try:
            loaded = self.get(conversation_id, number)
        except BaseException as error:
            if lane is not None:
                self.lanes.release(lane)
            if is_database_trouble(error):
                self.mending.add(conversation_id, error)
                raise
            rows = Conversation.objects.running().filter(id=conversation_id)
            writer.current().call(lambda: rows.update(status=Status.ERROR, intent=None))
            raise
        loaded.start(lane or self.lanes.next_free(), number)

    def consider(self, conversation_id: uuid.UUID) -> None:
        """Carry out what waits; run if unseen input asks for it. May wait for a lane."""
        loaded = self.get(conversation_id)
        loaded.deliver()
        asked = Conversation.objects.filter(id=conversation_id, intent__isnull=False)
        if asked.exists() and (number := writer.current().call(lambda: intents.claim(conversation_id))):
            self.start(conversation_id, number, None)

    def delete(self, conversation_id: uuid.UUID, number: int, seconds: float) -> None:
        """End whatever it does; its row is marked as deleting, so nothing is written any more."""
        with self._lock:
            loaded = self._loaded.pop(conversation_id, None)
        if loaded is None:
            return
        ended = loaded.stop("interrupt", number) if number else None
        if ended is not None:
            with contextlib.suppress(FutureTimeout):
                ended.result(seconds)
        loaded.close()

    def abandon_hung(self, wrap_up_seconds: float) -> None:
        """Give up runs whose end takes longer than that: shown as interrupted, fenced off, logged."""
        now = time.monotonic()
        for loaded in list(self._loaded.values()):
            since = loaded.ending_since
            if loaded.running and since is not None and now - since > wrap_up_seconds:
                with self._lock:
                    self._loaded.pop(loaded.id, None)
                if (lane := loaded.abandon()) is not None:
                    self.lanes.abandon(lane)
                self.get(loaded.id).settle_abandoned()

    def close(self, seconds: float) -> None:
        """Interrupt every run, wait for their ends, release all tools."""
        self.closing = True
        everything = list(self._loaded.values())
        ends = [end for c in everything if (end := c.shut_down()) is not None]
        deadline = time.monotonic() + seconds
        for end in ends:
            with contextlib.suppress(FutureTimeout):
                end.result(max(0.0, deadline - time.monotonic()))
        closes = [threads.waiting().submit(c.close) for c in everything]
        for close in closes:
            with contextlib.suppress(Exception):
                close.result(max(0.1, deadline + 2 - time.monotonic()))
        self.lanes.close()


def _claimed(conversation_id: uuid.UUID) -> Conversation:
    """Claim the row for this process: its older writers are refused from now on."""
    rows = Conversation.objects.living().filter(id=conversation_id)
    row = rows.first()
    if row is None:
        raise NotFound()
    row.run_epoch += 1
    rows.update(run_epoch=row.run_epoch, runner=NAME, heartbeat_at=timezone.now())
    return row


@functools.cache
def current() -> Runner:
    """The runner of this process, made on first use."""
    subagents.install()
    runner = Runner()
    metrics.LANES_LIMIT.set(runner.lanes.limit)
    metrics.LANES_BUSY.set_function(lambda: runner.lanes.busy)
    metrics.CONVERSATIONS_LOADED.set_function(runner.count)
    return runner
