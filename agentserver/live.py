"""The doorbell: ring(group, sequence) after a commit, and the tails that wait for it.

Rows are the record. A ring says that rows up to ``sequence`` are there, and may carry the newest
payload so that the usual case needs no query. Whoever missed a ring reads the rows; a lost ring
costs a tick, never an event. Within a process rings go straight to the tails (40 µs for 45 of them
where Channels' groups take 150); between processes they go through the channel layer, one message
per process and group.
"""

import asyncio
import collections
import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from channels.layers import InMemoryChannelLayer, get_channel_layer

from agentserver import activity

logger = logging.getLogger(__name__)

PAYLOAD_LIMIT = 64 * 1024
"""Characters; a larger payload is left in the database, where the reader fetches it."""
OUTGOING = 10_000
"""Rings that wait to be sent to other processes."""
SEND_SECONDS = 5.0
"""What the channel layer may take for one of them; then it is given up, and rows tell the rest."""
JOIN_SECONDS = 600.0
"""Between two joinings of our groups: the channel layer forgets members after a day."""
AWAY_SECONDS = 1.0
"""Before the next try where the channel layer is away."""
COMPLAINT_SECONDS = 10.0
"""Between two lines of the log about one that stays away."""
PENDING = 256
"""Rings a tail holds. Payloads are shared between tails, so this bounds references, not copies."""


@dataclass(slots=True, frozen=True)
class Ring:
    """``sequence``: rows up to here are committed; None for what is never stored.
    ``previous``: the sequence before it in the group, so that a reader there needs no query.
    ``at``: when, by the clock of the machine where it was (0: nobody looked)."""

    sequence: int | None
    previous: int | None = None
    payload: Any = None
    size: int = 0
    at: float = 0


@dataclass(eq=False, slots=True)
class Tail:
    """What one reader has yet to hear. Used on the hub's loop only."""

    group: str
    rings: collections.deque[Ring] = field(default_factory=collections.deque)
    newest: int = -1
    waiting_bytes: int = 0
    missed: bool = False  # rings were dropped, perhaps of something not stored
    closing: int | None = None
    wake: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, ring: Ring) -> None:
        if ring.sequence is not None:
            self.newest = max(self.newest, ring.sequence)
        if len(self.rings) >= PENDING:
            self.rings.clear()  # the reader is behind: it reads rows, and misses what has none
            self.missed = True
        self.rings.append(ring)
        self.waiting_bytes += ring.size
        self.wake.set()

    def close(self, code: int) -> None:
        """The group has ended: the reader closes its socket with ``code``."""
        self.closing = code
        self.wake.set()

    async def wait(self, seconds: float) -> None:
        """Until something is heard, or for ``seconds``: then rows are looked at anyway."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.wake.wait()
        self.wake.clear()

    def take(self) -> Iterator[Ring]:
        while self.rings:
            yield self.rings.popleft()


class Hub:
    """All tails of this process, by group."""

    def __init__(self) -> None:
        self._tails: dict[str, set[Tail]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._layer: Any = None
        self._channel = f"hub.{uuid.uuid4().hex}"
        self._relay: list[asyncio.Task[None]] = []
        # What other processes are to hear, in order; the oldest goes when the layer is away for long.
        self._outgoing: collections.deque[tuple[str, dict[str, Any]]] = collections.deque(maxlen=OUTGOING)
        self._sendable, self._left_out = asyncio.Event(), asyncio.Event()
        self._complained_at, self._lost = float("-inf"), 0
        self._listeners: tuple[Callable[[str, int], None], ...] = ()

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Use ``loop``, the one that serves sockets; called at start, on that loop."""
        if self._loop is loop:
            return
        self._loop = loop
        layer = get_channel_layer()
        self._layer = None if isinstance(layer, InMemoryChannelLayer) else layer
        if self._layer is not None:
            self._sendable, self._left_out = asyncio.Event(), asyncio.Event()
            self._relay = [
                loop.create_task(self._hear_others(), name="hub-relay"),
                loop.create_task(self._tell_others(), name="hub-sender"),
                loop.create_task(self._stay_joined(), name="hub-joiner"),
            ]

    async def unbind(self) -> None:
        for task in self._relay:
            task.cancel()
        await asyncio.gather(*self._relay, return_exceptions=True)
        self._relay = []
        self._loop = None

    # Any thread

    def ring(
        self, group: str, sequence: int | None, payload: str | None = None, *, previous: int | None = None
    ) -> None:
        """Rows of ``group`` up to ``sequence`` are committed. Never blocks, never raises."""
        size = len(payload) if payload is not None else 0
        if sequence is not None and size > PAYLOAD_LIMIT:
            payload = None
        self._pass_on(group, Ring(sequence, previous, payload, size, time.time()))
        if sequence is not None:
            for listener in self._listeners:
                listener(group, sequence)

    def overhear(self, listener: Callable[[str, int], None]) -> None:
        """Call ``listener`` with group and sequence of every ring of this process, from now on.

        It is called on whichever thread rings: it returns at once and raises nothing.
        """
        self._listeners = (*self._listeners, listener)

    def stop_overhearing(self, listener: Callable[[str, int], None]) -> None:
        self._listeners = tuple(one for one in self._listeners if one != listener)

    def transient(self, group: str, payload: Any) -> None:
        """Something that is shown and not stored; a slow reader may miss it."""
        self._pass_on(group, Ring(None, None, payload))

    def end(self, group: str, code: int) -> None:
        """Close every socket of ``group`` with ``code``."""
        self._schedule(self._end, group, code)
        self._send(group, {"type": "end", "code": code})

    def reach(self, seconds: float) -> None:
        """Ring where nobody listens. Raises what the channel layer raises, TimeoutError if it is silent."""
        if self._layer is None or self._loop is None:
            return
        ringing = self._layer.group_send("hub.nobody", {"type": "ring"})
        asyncio.run_coroutine_threadsafe(ringing, self._loop).result(seconds)

    def _pass_on(self, group: str, ring: Ring) -> None:
        activity.touch()  # what happens by itself is use of the server too
        if group in self._tails:
            self._schedule(self._fan_out, group, ring)
        if self._layer is not None:
            fields = [ring.sequence, ring.previous, ring.payload, ring.size, ring.at]
            self._send(group, {"type": "ring", "ring": fields})

    def _schedule(self, function: Any, *args: Any) -> None:
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop closed meanwhile
                loop.call_soon_threadsafe(function, *args)

    def _send(self, group: str, message: dict[str, Any]) -> None:
        if self._layer is None or self._loop is None:
            return
        message |= {"group": group, "from": self._channel}
        self._outgoing.append((group, message))
        self._schedule(self._sendable.set)

    # On the loop

    async def subscribe(self, group: str) -> Tail:
        """A tail that hears every ring from now on."""
        tail = Tail(group)
        first = group not in self._tails
        self._tails.setdefault(group, set()).add(tail)
        if first and self._layer is not None:
            try:
                await self._join(group)
            except Exception as error:  # readers fall back to their tick until it is there
                self._miss(error)
        return tail

    async def unsubscribe(self, tail: Tail) -> None:
        tails = self._tails.get(tail.group)
        if tails is None:
            return
        tails.discard(tail)
        if not tails:
            del self._tails[tail.group]
            if self._layer is not None:
                with contextlib.suppress(Exception):  # a group that nobody here reads costs little
                    async with asyncio.timeout(SEND_SECONDS):
                        await self._layer.group_discard(tail.group, self._channel)

    def count(self, group: str) -> int:
        return len(self._tails.get(group, ()))

    def _fan_out(self, group: str, ring: Ring) -> None:
        for tail in self._tails.get(group, ()):
            tail.hear(ring)

    def _end(self, group: str, code: int) -> None:
        for tail in self._tails.get(group, ()):
            tail.close(code)

    async def _join(self, group: str) -> None:
        async with asyncio.timeout(SEND_SECONDS):
            await self._layer.group_add(group, self._channel)

    async def _stay_joined(self) -> None:
        """A channel layer that was away, or a day, has forgotten who wants to hear what."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._left_out.wait(), JOIN_SECONDS)
            self._left_out.clear()
            try:
                for group in list(self._tails):
                    await self._join(group)
            except Exception as error:
                self._miss(error)
                await asyncio.sleep(AWAY_SECONDS)

    def _miss(self, error: Exception, lost: int = 0) -> None:
        """The channel layer is away, and so many rings with it: rows tell the rest."""
        self._left_out.set()
        self._lost += lost
        if (now := time.monotonic()) - self._complained_at > COMPLAINT_SECONDS:
            logger.warning(
                "The channel layer does not answer: %s; %d rings were lost", type(error).__name__, self._lost
            )
            self._complained_at, self._lost = now, 0

    async def _tell_others(self) -> None:
        """One after the other: sent side by side they would overtake each other."""
        while True:
            await self._sendable.wait()
            self._sendable.clear()
            while self._outgoing:
                await self._group_send(*self._outgoing.popleft())

    async def _group_send(self, group: str, message: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._layer.group_send(group, message)
        except Exception as error:  # readers fall back to their tick
            self._miss(error, lost=1)

    async def _hear_others(self) -> None:
        while True:
            try:
                message = await self._layer.receive(self._channel)
            except Exception as error:
                self._miss(error)
                await asyncio.sleep(AWAY_SECONDS)
                continue
            if message.get("from") == self._channel:
                continue
            if message["type"] == "end":
                self._end(message["group"], message["code"])
            else:
                self._fan_out(message["group"], Ring(*message["ring"]))


hub = Hub()
ring, transient, end = hub.ring, hub.transient, hub.end
