"""The conversations of this process: loading, running, stopping and unloading them.

Everything here is called on worker threads, never on an event loop.
"""

import contextlib
import functools
import logging
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout

from django.utils import timezone

from agentserver import conf, live, threads, writer
from agentserver.causes import is_database_trouble
from agentserver.errors import NotFound
from agentserver.observability import metrics
from conversations import (  # (goals registers its command)
    building,
    engine,
    goals,  # noqa: F401
    intents,
    lanes,
    mending,
    recovery,
    subagents,
)
from conversations.lanes import Lane
from conversations.loaded import Loaded
from conversations.local import STOP_SECONDS
from conversations.models import Command, Conversation, Status
from conversations.store import Fenced

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
        self.shared = conf.current().engine  # other processes may claim what is loaded here
        self.mending = mending.Mending(self._give_back if self.shared else self.consider)

    # In and out of memory

    def count(self) -> int:
        """Conversations in memory."""
        return len(self._loaded)

    def get(
        self, conversation_id: uuid.UUID, claimed: int = 0, may_load: Callable[[], bool] = lambda: True
    ) -> Loaded:
        """The loaded conversation; loads it if needed, anew if it is broken. Raises NotFound.

        ``claimed``: the number of a run that the caller has claimed and is about to begin.
        ``may_load``: asked in the transaction that takes it from other runners; no raises Fenced.
        """
        loaded = self._usable(conversation_id)
        if loaded is not None:
            return loaded
        with self._lock:
            lock = self._loading.setdefault(conversation_id, threading.Lock())
        with lock:
            loaded = self._usable(conversation_id) or self._load(conversation_id, claimed, may_load)
        with self._lock:
            self._loading.pop(conversation_id, None)
        return loaded

    def _usable(self, conversation_id: uuid.UUID) -> Loaded | None:
        loaded = self._loaded.get(conversation_id)
        if loaded is None or loaded.closed:
            return None
        if self.shared and not loaded.store.is_current():
            self._drop(loaded)
            return None
        # A run under which the rows broke is about to notice by itself.
        return loaded if loaded.running or not self.mending.is_broken(loaded.id) else None

    def _drop(self, loaded: Loaded) -> None:
        """Another runner has claimed it: what is left of it here goes."""
        self._loaded.pop(loaded.id, None)
        loaded.store.frozen = not loaded.running  # a run finds out at its next write, and ends
        loaded.stop("interrupt", loaded.run_number)
        threads.waiting().submit(loaded.close)

    def _give_back(self, conversation_id: uuid.UUID) -> None:
        """Its rows could not be written, and can again: any runner may take it from there."""
        writer.current().call(lambda: engine.enqueue(conversation_id))
        self.mending.forget(conversation_id)
        if (loaded := self._loaded.pop(conversation_id, None)) is not None:
            loaded.store.frozen = True
            loaded.close()

    def adopt(self, loaded: Loaded) -> None:
        """Keep a conversation that was just created."""
        loaded.on_trouble = self.mending.add
        self._loaded[loaded.id] = loaded
        if len(self._loaded) > LOADED + self.lanes.limit:
            threads.waiting().submit(self.unload_idle, 0, LOADED)

    def _load(self, conversation_id: uuid.UUID, claimed: int, may_load: Callable[[], bool]) -> Loaded:
        row, before = writer.current().call(lambda: _claimed(conversation_id, may_load))
        if self.shared and before not in ("", NAME):
            live.transient(engine.group_of(before), conversation_id.hex)
        loaded = building.load(row, self.lanes)
        try:
            self.mending.mend(loaded, claimed)
        except BaseException:
            loaded.close()
            raise
        given_up = self._loaded.get(conversation_id)
        self.adopt(loaded)
        if self.shared and row.status == Status.RUNNING:
            recovery.bring_to_rest(loaded, recovery.CRASHED)
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
                self._let_go(loaded)

    def _let_go(self, loaded: Loaded) -> None:
        """Tell other processes that nothing of it is left here."""
        if self.shared:
            rows = Conversation.objects.filter(id=loaded.id, runner=NAME, run_epoch=loaded.store.epoch)
            writer.current().call(lambda: rows.update(runner=""))

    # For other processes

    def take_up(self, conversation_id: uuid.UUID, is_held: Callable[[], bool]) -> Future[None] | None:
        """What a job asks for: carry out what waits, begin the run that was claimed or is asked for.

        A future of that run's end; None when there is nothing to do (any more). May wait for a lane.
        ``is_held``: whether the job is still this process's. Asked inside a transaction.
        """
        try:
            loaded = self.get(conversation_id, may_load=is_held)
        except (NotFound, Fenced):
            return None
        if self.closing:
            writer.current().call(lambda: engine.enqueue(conversation_id))
            return None
        if loaded.running:  # its job was lost: this one stands for it
            return loaded.over
        loaded.deliver()
        number = self.claimed(loaded) or _claim_asked(conversation_id)
        if not number:
            return None
        loaded.start(self.lanes.next_free(), number)
        return loaded.over

    def claimed(self, loaded: Loaded) -> int:
        """The number of the run that is to be begun, 0 if none is; a stop that came before it is heeded."""
        row = Conversation.objects.only("status", "run_number", "stop_run", "stop_kind").get(id=loaded.id)
        if row.status != Status.RUNNING:
            return 0
        if row.stop_run == row.run_number:
            loaded.stop(row.stop_kind, row.run_number)
        return row.run_number

    def heed(self, conversation_ids: list[uuid.UUID]) -> None:
        """Something is asked of conversations that may be here: stops, commands, deletion."""
        here = [loaded for one in conversation_ids if (loaded := self._loaded.get(one)) is not None]
        looked_at = Conversation.objects.only(
            "status", "run_epoch", "run_number", "stop_run", "stop_kind"
        )  # several times a second: not the states
        rows = looked_at.in_bulk([loaded.id for loaded in here])
        asked = set(
            Command.objects.filter(conversation_id__in=list(rows), failure="")
            .values_list("conversation_id", flat=True)
            .distinct()
        )
        for loaded in here:
            row = rows.get(loaded.id)
            if row is None or row.status == Status.DELETING:
                self.delete(loaded.id, loaded.run_number, STOP_SECONDS)
                self._let_go(loaded)
            elif row.run_epoch != loaded.store.epoch:
                self._drop(loaded)
            else:
                if row.status == Status.RUNNING and row.stop_run == row.run_number:
                    loaded.stop(row.stop_kind, row.stop_run)
                if loaded.id in asked and loaded.running:
                    threads.waiting().submit(loaded.deliver)

    def at_work(self) -> list[uuid.UUID]:
        """The conversations that run here."""
        return [loaded.id for loaded in list(self._loaded.values()) if loaded.running]

    def hand_over(self, *, cut_off: bool) -> None:
        """Let every run end after its step (or at once, with ``cut_off``) and go on in another runner."""
        self.closing = True
        for loaded in list(self._loaded.values()):
            loaded.hand_over(cut_off=cut_off)

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
        if number := _claim_asked(conversation_id):
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
                with contextlib.suppress(Fenced):  # somebody else looks after it already
                    self.get(loaded.id, may_load=loaded.store.is_current).settle_abandoned()

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


def _claim_asked(conversation_id: uuid.UUID) -> int:
    """Claim the run that unseen input asks for: its number, 0 if none does or one goes on."""
    if not Conversation.objects.filter(id=conversation_id, intent__isnull=False).exists():
        return 0
    return writer.current().call(lambda: intents.claim(conversation_id))


def _claimed(conversation_id: uuid.UUID, may_load: Callable[[], bool]) -> tuple[Conversation, str]:
    """Claim the row for this process: its older writers are refused from now on. And who had it."""
    if not may_load():
        raise Fenced(f"Conversation {conversation_id} was given to another process.")
    rows = Conversation.objects.living().filter(id=conversation_id)
    row = rows.first()
    if row is None:
        raise NotFound()
    before = row.runner
    row.run_epoch += 1
    rows.update(run_epoch=row.run_epoch, runner=NAME, heartbeat_at=timezone.now())
    return row, before


@functools.cache
def current() -> Runner:
    """The runner of this process, made on first use."""
    subagents.install()
    runner = Runner()
    metrics.LANES_LIMIT.set(runner.lanes.limit)
    metrics.LANES_BUSY.set_function(lambda: runner.lanes.busy)
    metrics.CONVERSATIONS_LOADED.set_function(runner.count)
    return runner
