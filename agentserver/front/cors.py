"""CORS: which pages of other sites may read answers, on every answer of the API.

Not django-cors-headers: it runs inside Django, where the refusals of the gate and a crash never
come by, and it answers a preflight of a foreign page with 200 where clients expect 400.
"""

from typing import Any

from agentserver.front import origins
from agentserver.front.answers import Header, header, send_bytes

METHODS = b"DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"
HEADERS = b"Accept, Accept-Language, Authorization, Content-Language, Content-Type, X-Session-API-Key"
MAX_AGE_SECONDS = b"600"
VARY: Header = (b"vary", b"Origin")


class Cors:
    """Wraps ``application``, except for ``pages``: those use cookies, so no other page may read them."""

    def __init__(self, application: Any, pages: tuple[str, ...] = ()):
        self.application, self.pages = application, pages

    async def __call__(self, scope, receive, send) -> None:
        origin = origins.origin_of(scope)
        if scope["path"].startswith(self.pages):
            await self.application(scope, receive, send)
        elif origin is not None and _is_preflight(scope):
            await _answer_preflight(scope, send, origin)
        else:
            await self.application(scope, receive, _with_headers(send, _granted(scope, origin)))


def _granted(scope: dict[str, Any], origin: str | None) -> list[Header]:
    if origin is None:
        return [VARY]
    if not (origins.may_call(origin) or origins.may_embed(scope["path"], origin)):
        return [VARY, (b"access-control-allow-origin", b"*")] if origins.anybody_may_read() else [VARY]
    return [
        VARY,
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-allow-credentials", b"true"),
    ]


def _with_headers(send: Any, added: list[Header]) -> Any:
    async def sending(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return sending


def _is_preflight(scope: dict[str, Any]) -> bool:
    return scope["method"] == "OPTIONS" and header(scope, b"access-control-request-method") is not None


async def _answer_preflight(scope: dict[str, Any], send: Any, origin: str) -> None:
    granted = _granted(scope, origin)
    if granted == [VARY]:
        await send_bytes(send, 400, b"Disallowed CORS origin", b"text/plain; charset=utf-8", granted)
        return
    asked = header(scope, b"access-control-request-headers")
    granted += [
        (b"access-control-allow-methods", METHODS),
        (b"access-control-allow-headers", asked or HEADERS),
        (b"access-control-max-age", MAX_AGE_SECONDS),
    ]
    if header(scope, b"access-control-request-private-network") == b"true":
        granted.append((b"access-control-allow-private-network", b"true"))
    await send_bytes(send, 200, b"OK", b"text/plain; charset=utf-8", granted)
