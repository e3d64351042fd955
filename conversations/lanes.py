"""Lanes: long-lived threads with an event loop each; one conversation at a time runs in one.

A slow hook or a stuck tool then stops only its own conversation, HTTP clients (which litellm keeps
per loop) are reused, and the number of lanes is the limit of concurrent runs.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from agentserver import conf

logger = logging.getLogger(__name__)

TOOL_THREADS = 16
"""Threads of a lane's default executor: tool calls run there, and a default of 6 would make the
seventh parallel call wait."""


GIVING_BACK_SECONDS = 0.25
"""What a run may take from showing its end to giving its lane back."""


class Lane:
    """One thread, one loop, one executor for tools."""

    def __init__(self, number: int) -> None:
        self.name = f"lane-{number}"
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(
            ThreadPoolExecutor(TOOL_THREADS, thread_name_prefix=f"{self.name}-tool")
        )
        self._thread = threading.Thread(target=self._work, name=self.name, daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Run ``coroutine`` on the lane's loop. Any thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def close(self) -> None:
        """Cancel what is left on the loop, litellm's workers among it, and end the thread."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._cancel_all)
        self._thread.join(1)

    def _cancel_all(self) -> None:
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        ended = asyncio.gather(*tasks, return_exceptions=True)
        ended.add_done_callback(lambda _: self.loop.stop())

    def _work(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()


class Lanes:
    """The pool: lanes are made on demand and reused last in, first out."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._idle: list[Lane] = []
        self._made: list[Lane] = []
        self._busy = 0
        self._closed = False
        self._lock = threading.Condition()

    def acquire(self) -> Lane | None:
        """A lane, or None when all are busy.

        A run shows its end a moment before it gives its lane back, so a moment is waited for it.
        """
        with self._lock:
            free = self._lock.wait_for(lambda: self._busy < self.limit, GIVING_BACK_SECONDS)
            return self._take() if free else None

    def next_free(self) -> Lane:
        """A lane, as soon as one is free."""
        with self._lock:
            self._lock.wait_for(lambda: self._busy < self.limit or self._closed)
            if self._closed:
                raise RuntimeError("The server is shutting down.")
            return self._take()

    def _take(self) -> Lane:
        with self._lock:
            self._busy += 1
            if self._idle:
                return self._idle.pop()
            lane = Lane(len(self._made))
            self._made.append(lane)
            return lane

    def release(self, lane: Lane) -> None:
        with self._lock:
            if lane not in self._made:  # it was given up meanwhile
                lane.loop.call_soon_threadsafe(lane.loop.stop)
                return
            self._busy -= 1
            self._idle.append(lane)
            self._lock.notify()

    def abandon(self, lane: Lane) -> None:
        """Give up a lane whose run hangs: another is made in its place when needed."""
        with self._lock:
            self._busy -= 1
            self._made.remove(lane)
            self._lock.notify()
        logger.error("Abandoned %s: its run did not end in time", lane.name)

    @property
    def busy(self) -> int:
        return self._busy

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        for lane in self._made:
            lane.close()


def made() -> Lanes:
    return Lanes(conf.current().max_concurrent_runs)
