"""Requests about a disk that this process does not have go to a runner that has it.

Bodies pass through in both directions as they come; nothing is kept.
"""

import asyncio
import functools
import logging
import random
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import httpx

from agentserver import conf, threads
from agentserver.errors import BadGateway, Conflict, Unavailable
from agentserver.places import directory, routes, tickets

logger = logging.getLogger(__name__)

TIMEOUT = httpx.Timeout(connect=3, read=3600, write=60, pool=10)
"""Seconds. A command may be silent for long; its own limit ends it."""
CONNECTIONS = 200
_KEPT_OUT = {
    b"host", b"connection", b"keep-alive", b"upgrade", b"te", b"trailer", b"transfer-encoding", b"expect",
    b"proxy-authorization", b"proxy-connection", b"authorization", b"cookie", b"x-session-api-key",
    tickets.HEADER,
}  # fmt: skip
"""Headers of one connection, and credentials: the ticket says for whom the request is."""


class Away(Unavailable):
    code = "workspace_away"
    sentence = "The runner that has this workspace's disk does not answer. Try again when it is back."


class Several(Conflict):
    code = "several_disks"
    sentence = (
        "Workspaces of this server lie on several disks. Name the conversation: /api/conversations/{id}/..."
    )


class Forwarding:
    """Wraps ``application``, which answers for rows and for the disk of this process. Inside the gate."""

    def __init__(self, application: Any):
        self.application = application

    async def __call__(self, scope, receive, send) -> None:
        disk = routes.disk_of(scope["method"], scope["path"]) if conf.current().engine else None
        places = await threads.run_in(threads.reading(), _places, disk) if disk is not None else None
        if places is None:
            await self.application(scope, receive, send)
        else:
            await _pass_on(places, scope, receive, send)


def _places(disk: routes.Disk) -> list[str] | None:
    """Where the request belongs; None: here. Raises Away, Several."""
    configuration = conf.current()
    if disk.conversation_id is not None:
        queues = [queue] if (queue := directory.queue_of(disk.conversation_id)) else []
    else:
        queues = configuration.queues
    known = {queue: found for queue in queues if (found := directory.addresses(queue)) is not None}
    if not known or (configuration.runs_conversations and set(known) <= set(configuration.queues)):
        return None
    if disk.new:
        return [address for queue in random.sample(queues, len(queues)) for address in known.get(queue, ())]
    if len(queues) > 1:
        raise Several()
    return known[queues[0]]


async def _pass_on(places: list[str], scope: Any, receive: Any, send: Any) -> None:
    """Ask one place after the other until one takes a connection. Raises Away, BadGateway."""
    body = _Body(scope, receive)
    for place in places:
        try:
            await _exchange(place, scope, body, send)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            continue
        except httpx.HTTPError as error:
            logger.warning("A request that was passed on to %s failed: %s", place, type(error).__name__)
            if body.answered:
                raise  # the client sees a broken answer
            raise BadGateway() from None
        return
    raise Away()


async def _exchange(place: str, scope: Any, body: "_Body", send: Any) -> None:
    asking = asyncio.create_task(_ask(place, scope, body, send), name="pass-on")
    leaving = asyncio.create_task(body.until_client_leaves(), name="watch-client")
    try:
        await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (asking, leaving):
            if not task.done():
                task.cancel()
        outcome, _ = await asyncio.gather(asking, leaving, return_exceptions=True)
    if isinstance(outcome, Exception):
        raise outcome


async def _ask(place: str, scope: Any, body: "_Body", send: Any) -> None:
    target = _target(scope)
    headers = [(name, value) for name, value in scope["headers"] if name not in _KEPT_OUT]
    headers.append((tickets.HEADER, tickets.issue(scope["principal"], scope["method"], target).encode()))
    url = httpx.URL(place).copy_with(raw_path=target.encode())
    client = _client()
    request = client.build_request(scope["method"], url, headers=headers, content=body.content())
    answer = await client.send(request, stream=True)
    try:
        kept = [(n.lower(), v) for n, v in answer.headers.raw if n.lower() not in _KEPT_OUT]
        body.answered = True
        await send({"type": "http.response.start", "status": answer.status_code, "headers": kept})
        async for piece in answer.aiter_raw():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        await answer.aclose()


def _target(scope: Any) -> str:
    path = quote(scope["path"].encode("utf-8", "surrogateescape"), safe="/:@!$&'()*+,;=~-._")
    query = scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


class _Body:
    """What the client sends, as it comes; and whether it has gone."""

    def __init__(self, scope: Any, receive: Any):
        names = {name for name, _ in scope["headers"]}
        self._is_there = bool(names & {b"content-length", b"transfer-encoding"})
        self._receive, self._ended, self.answered = receive, asyncio.Event(), False
        if not self._is_there:
            self._ended.set()

    def content(self) -> AsyncIterator[bytes] | None:
        return self._pieces() if self._is_there else None

    async def _pieces(self) -> AsyncIterator[bytes]:
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise asyncio.CancelledError
            yield message.get("body", b"")
            if not message.get("more_body"):
                self._ended.set()
                return

    async def until_client_leaves(self) -> None:
        await self._ended.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


@functools.cache
def _client() -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=20)
    return httpx.AsyncClient(timeout=TIMEOUT, limits=limits, trust_env=False, follow_redirects=False)


async def close() -> None:
    if _client.cache_info().currsize:
        await _client().aclose()
        _client.cache_clear()
