"""The consumer both apps build on: let in, subscribe, replay, follow, and never wait for the slow.

A reader's place is one number, the sequence it was sent last. What follows comes from the ring
if it is next in line, else from the rows. The database is the backlog: nothing piles up in memory
for a slow reader, and one that falls too far behind is closed with 1013 and can resume.
"""

import asyncio
import contextlib
import logging
import time
from typing import Any
from urllib.parse import parse_qs

from channels.exceptions import DenyConnection, StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer

from agentserver import conf
from agentserver.auth import doors, limits
from agentserver.live import Ring, Tail, hub
from agentserver.observability import metrics

logger = logging.getLogger(__name__)

TICK_SECONDS = 10
"""After this the rows are looked at without a ring: what a lost ring costs at the most."""
AUTH_SECONDS = 10
"""How long a socket without a key may take to send one; the reference's figure."""
PAGE = 200
"""Rows read at once."""

UNAUTHENTICATED, UNKNOWN, TRY_LATER, LOST = 4001, 4004, 1013, 1006


class Refused(Exception):
    """The handshake is refused: no socket, HTTP 403."""


class TailingConsumer(AsyncWebsocketConsumer):
    """Subclasses say what to follow (``open``), how to read it (``rows_after``) and show it (``frame``)."""

    channel_layer_alias = None  # the hub listens for all sockets of the process
    kind = "events"  # how it is counted
    tail: Tail | None = None
    sent: int = -1

    # What subclasses give

    async def prepare(self) -> None:
        """Read the query. Raises Refused."""

    async def open(self) -> None:
        """After accept and authentication: subscribe with ``follow`` or close."""
        raise NotImplementedError

    async def rows_after(self, sequence: int, limit: int) -> list[tuple[int, str]]:
        """Committed rows after ``sequence`` in order: (sequence, payload)."""
        raise NotImplementedError

    async def heard(self, text: str | None, data: bytes | None) -> None:
        """A message of the client."""

    def frame(self, sequence: int, payload: str) -> str:
        return payload

    async def transient_frame(self, payload: Any) -> str | None:
        """The frame for something not stored; None to leave it out."""
        return payload

    async def missed(self) -> None:
        """Something not stored was dropped because this reader was slow; the rows are sent."""

    # The life of a socket

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            # A connection that is lost while something is sent ends here without a disconnect.
            await self.disconnect(LOST)

    async def connect(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._let_in = asyncio.Event()
        self.query = parse_qs(self.scope["query_string"].decode("latin-1"), keep_blank_values=True)
        try:
            await self.prepare()
            principal = await doors.socket_principal(self.scope)
        except (Refused, doors.Denied):
            raise DenyConnection from None
        await self.accept()
        if principal is None:
            self._spawn(self._wait_for_key(), "socket-auth")
        else:
            await self._enter(principal)

    async def _enter(self, principal: doors.Principal) -> None:
        self.principal = principal
        self._let_in.set()
        if not limits.sockets.take(principal):
            await self.close(TRY_LATER)
            return
        self._counted = principal
        metrics.SOCKETS_OPEN.labels(self.kind).inc()
        await self.open()

    async def _wait_for_key(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(AUTH_SECONDS):
                await self._let_in.wait()
                return
        await self.close(UNAUTHENTICATED)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self._let_in.is_set():
            await self.heard(text_data, bytes_data)
            return
        principal = await doors.first_message_principal(self.scope, text_data)
        if principal is None:
            await self.close(UNAUTHENTICATED)
        else:
            await self._enter(principal)

    _counted: doors.Principal | None = None  # whose socket it counts as

    _left = False

    async def disconnect(self, code: int) -> None:
        if self._left:
            return
        self._left = True
        if self._counted is not None:
            limits.sockets.give_back(self._counted)
            metrics.SOCKETS_OPEN.labels(self.kind).dec()
            self._counted = None
        if self.tail is not None:
            await hub.unsubscribe(self.tail)
        tasks = [task for task in getattr(self, "_tasks", ()) if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def websocket_disconnect(self, message: dict[str, Any]) -> None:
        try:
            await self.disconnect(message.get("code", LOST))
        finally:
            raise StopConsumer

    # Following

    async def subscribe(self, group: str) -> Tail:
        """Hear the group from now on; ``follow`` starts sending."""
        self.tail = await hub.subscribe(group)
        return self.tail

    def follow(self, sent: int) -> None:
        """Send what comes after ``sent``, for ever."""
        self.sent = sent
        self._spawn(self._run_pump(), "socket-pump")
        self._spawn(self._watch(), "socket-watch")

    def _spawn(self, coroutine: Any, name: str) -> None:
        task = asyncio.create_task(coroutine, name=name)
        self._tasks.append(task)

    async def _run_pump(self) -> None:
        try:
            await self.catch_up()
            while True:
                await self.tail.wait(TICK_SECONDS)
                await self._send_pending()
                if self.tail.closing is not None:
                    await self.close(self.tail.closing)
                    return
        except OSError:
            pass  # the client has gone; its disconnect message is on the way
        except Exception:
            logger.exception("A socket ended by an error")
            await self.close(1011)

    async def _send_pending(self) -> None:
        rang = False
        for ring in self.tail.take():
            rang = True
            await self._send_ring(ring)
        if not rang or self.sent < self.tail.newest:
            await self.catch_up()
        self.tail.waiting_bytes = 0
        if self.tail.missed:
            self.tail.missed = False
            await self.missed()

    async def _send_ring(self, ring: Ring) -> None:
        if ring.sequence is None:
            if self.sent < self.tail.newest and not self.tail.rings:
                await self.catch_up()
            if (text := await self.transient_frame(ring.payload)) is not None:
                await self._push(text)
        elif ring.sequence > self.sent:
            if ring.payload is not None and ring.previous is not None and ring.previous <= self.sent:
                await self._push(self.frame(ring.sequence, ring.payload))
                self.sent = ring.sequence
            else:
                await self.catch_up()
            metrics.EVENT_DELIVERY.observe(max(0.0, time.time() - ring.at))

    async def catch_up(self, through: int | None = None) -> None:
        """Send every committed row after the last one sent, up to ``through`` if given."""
        while rows := await self.rows_after(self.sent, PAGE):
            for sequence, payload in rows:
                if through is not None and sequence > through:
                    return
                await self._push(self.frame(sequence, payload))
                self.sent = sequence

    async def _push(self, text: str) -> None:
        self._sending_since = asyncio.get_running_loop().time()
        await self.send(text)
        self._sending_since = None

    _sending_since: float | None = None

    async def _watch(self) -> None:
        """Close a socket that takes no data while much waits for it, or for too long."""
        configuration = conf.current()
        while True:
            await asyncio.sleep(1)
            since = self._sending_since
            if since is None:
                continue
            stuck = asyncio.get_running_loop().time() - since
            behind = self.tail.waiting_bytes > configuration.socket_backlog_bytes and stuck > 1
            if behind or stuck > configuration.socket_send_timeout_seconds:
                await self._give_up()
                return

    async def _give_up(self) -> None:
        metrics.SOCKETS_GIVEN_UP.inc()
        for task in self._tasks:
            if task.get_name() == "socket-pump":
                task.cancel()
        await self.close(TRY_LATER)
