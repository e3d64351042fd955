"""The outermost layer of HTTP and sockets: an id for each request, how long it took, a line in the log."""

import logging
import re
import time
import uuid
from typing import Any

from agentserver import conf
from agentserver.front.answers import header
from agentserver.observability import logs, metrics

logger = logging.getLogger("agentserver.access")

_USABLE = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
"""Ids of others that are taken over; anything else could forge lines of a log."""
_CONVERSATION = re.compile(
    r"/(?:api/(?:acp/)?conversations|sockets/(?:events|session))/"
    r"([0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12})(?![0-9a-fA-F])"
)
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class Requests:
    """Wraps ``application``. ``X-Request-Id`` is taken over or made, and comes back with the answer."""

    def __init__(self, application: Any):
        self.application = application

    async def __call__(self, scope, receive, send) -> None:
        request_id = _id_of(scope)
        logs.bind(request_id=request_id, **_subject(scope["path"]))
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        answer = _Answer(send, request_id.encode())
        began = time.perf_counter()
        try:
            await self.application(scope, receive, answer)
        finally:
            _note(scope, answer.status, time.perf_counter() - began)


class _Answer:
    """``send`` that adds the id and keeps the status; 499 where the client left without an answer."""

    __slots__ = ("_request_id", "_send", "status")

    def __init__(self, send: Any, request_id: bytes):
        self._send, self._request_id, self.status = send, request_id, 499

    async def __call__(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {
                **message,
                "headers": [*message.get("headers", ()), (b"x-request-id", self._request_id)],
            }
        await self._send(message)


def _id_of(scope: dict[str, Any]) -> str:
    given = header(scope, b"x-request-id")
    return given.decode() if given is not None and _USABLE.fullmatch(given) else uuid.uuid4().hex


def _subject(path: str) -> dict[str, uuid.UUID]:
    match = _CONVERSATION.match(path)
    return {"conversation_id": uuid.UUID(match[1])} if match else {}


def _note(scope: dict[str, Any], status: int, seconds: float) -> None:
    method = scope["method"] if scope["method"] in _METHODS else "other"
    metrics.HTTP_SECONDS.labels(method, f"{status // 100}xx").observe(seconds)
    if not conf.current().access_log and conf.current().log_level != "DEBUG":
        return
    query = scope["query_string"].decode("latin-1")
    logger.info(
        "%s %s %d",
        scope["method"],
        f"{scope['path']}?{query}" if query else scope["path"],
        status,
        extra={"milliseconds": round(seconds * 1000, 1), "status": status},
    )
