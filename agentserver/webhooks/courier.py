"""The courier: hears what happens in this process, and has it told, on a thread with a loop of its own.

Nothing waits for it: who rings leaves a note and goes on. What it misses, it finds in the rows.
"""

import asyncio
import contextlib
import logging
import threading
import uuid
from collections.abc import Callable
from typing import Any

from agentserver import conf, threads, writer
from agentserver.webhooks import hooks, outbox, purge
from agentserver.webhooks.posting import Poster
from agentserver.webhooks.routes import Route
from conversations.models import Conversation

logger = logging.getLogger(__name__)

RELOAD_SECONDS = 15
"""After this, webhooks that others made or changed are known here."""
SEARCH_SECONDS = 60
"""After this, rows are searched for what a process that died left behind."""
OWNERS = 10_000
"""Conversations whose owner is remembered."""
_GROUP = "conversation."


class Courier:
    """``notice``, ``overhear``, ``reload`` and ``stop`` may be called on any thread but its own."""

    def __init__(self) -> None:
        self.holder = uuid.uuid4().hex
        self.flushing = False
        self._routes: dict[int, Route] = {}
        self._owners: dict[uuid.UUID, int | None] = {}
        # What was heard and not yet sorted: conversation's group to newest sequence, None for other news.
        self._notes: dict[str, int | None] = {}
        self._lock, self._begun = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="webhooks", daemon=True)

    def start(self) -> None:
        """Returns when it hears."""
        self._thread.start()
        self._begun.wait(10)

    def _work(self) -> None:
        asyncio.run(self._main())

    # Any thread

    def overhear(self, group: str, sequence: int) -> None:
        """The hub's listener: events of ``group`` up to ``sequence`` are committed."""
        if self._routes and group.startswith(_GROUP):
            self._note(group, sequence)

    def notice(self, conversation_id: uuid.UUID) -> None:
        """Something of a conversation changed that is no event."""
        if self._begun.is_set():
            self._note(_GROUP + conversation_id.hex, None)

    def reload(self) -> None:
        """A webhook was made, changed, disabled or given something to post again."""
        self._schedule(self._reload_soon)

    def _note(self, group: str, sequence: int | None) -> None:
        with self._lock:
            first = not self._notes
            if sequence is None or self._notes.get(group, 0) is not None:
                self._notes[group] = sequence
        if first:
            self._schedule(self.wake)

    def _schedule(self, function: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(function)

    def stop(self, seconds: float) -> None:
        """Post what waits, for ``seconds`` at the most, and end. What is left waits in the rows."""
        if not self._thread.is_alive():
            return
        ending = asyncio.run_coroutine_threadsafe(self._flush(seconds), self._loop)
        with contextlib.suppress(TimeoutError):
            ending.result(seconds + 1)
        self._schedule(self._end)
        self._thread.join(1)

    # On its loop

    async def read[T](self, function: Callable[..., T], *args: Any) -> T:
        return await threads.run_in(threads.delivering(), function, *args)

    async def write[T](self, function: Callable[..., T], *args: Any) -> T:
        """On the writer thread; done even if whoever asked is cancelled."""
        future = writer.current().submit(lambda: function(*args))
        return await asyncio.shield(asyncio.wrap_future(future))

    def wake(self) -> None:
        self._woken.set()

    def _reload_soon(self) -> None:
        self._reload_at = self._search_at = 0.0
        for route in self._routes.values():
            route.release()
        self.wake()

    def _end(self) -> None:
        self._ended = True
        self.wake()

    async def _main(self) -> None:
        self._loop, self._woken, self._ended = asyncio.get_running_loop(), asyncio.Event(), False
        self._reload_at = self._search_at = 0.0
        self.slots, self.poster = asyncio.Semaphore(conf.current().webhook_max_posts), Poster()
        self._begun.set()
        while not self._ended:
            self._woken.clear()
            try:
                await self._tend()
            except Exception:
                logger.exception("Webhooks cannot be tended; it is tried again")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.1, self._reload_at - self._loop.time())):
                    await self._woken.wait()
        await self.poster.close()

    async def _tend(self) -> None:
        now = self._loop.time()
        if now >= self._reload_at and not self.flushing:
            self._reload_at = now + RELOAD_SECONDS
            await self._load()
        if now >= self._search_at and not self.flushing:
            self._search_at = now + SEARCH_SECONDS
            await self.write(purge.purge)
            for route in self._routes.values():
                route.search()
        await self._sort()
        if not self.flushing:
            for route in list(self._routes.values()):
                await route.fill()

    async def _load(self) -> None:
        found = {hook.id: hook for hook in await self.read(hooks.enabled)}
        for gone in self._routes.keys() - found.keys():
            self._routes.pop(gone).close()
        for hook in found.values():
            if hook.id in self._routes:
                self._routes[hook.id].hook = hook
            else:
                self._routes[hook.id] = Route(self, hook)

    async def _sort(self) -> None:
        """Tell every route what was heard of the conversations that it is for."""
        with self._lock:
            notes, self._notes = self._notes, {}
        for group, sequence in notes.items():
            conversation_id = uuid.UUID(group.removeprefix(_GROUP))
            for route in list(self._routes.values()):
                if await self._concerns(route, conversation_id):
                    route.hear(conversation_id, sequence)

    async def _concerns(self, route: Route, conversation_id: uuid.UUID) -> bool:
        if route.hook.owner_id is None:
            return True
        if conversation_id not in self._owners:
            if len(self._owners) >= OWNERS:
                self._owners.clear()
            self._owners[conversation_id] = await self.read(_owner, conversation_id)
        return self._owners[conversation_id] == route.hook.owner_id

    async def _flush(self, seconds: float) -> None:
        self.flushing = True
        await self._sort()
        tasks = [task for route in self._routes.values() for task in route.flush()]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        left = [task for route in self._routes.values() for task in route.close()]
        await asyncio.gather(*left, return_exceptions=True)
        await self.write(outbox.release, self.holder)


def _owner(conversation_id: uuid.UUID) -> int | None:
    rows = Conversation.objects.filter(id=conversation_id)
    return rows.values_list("owner_id", flat=True).first()


_current: Courier | None = None


def begin() -> Courier:
    """The courier of this process, started."""
    global _current
    _current = Courier()
    _current.start()
    return _current


def current() -> Courier | None:
    return _current


def notice(conversation_id: uuid.UUID) -> None:
    if _current is not None:
        _current.notice(conversation_id)


def reload() -> None:
    if _current is not None:
        _current.reload()
