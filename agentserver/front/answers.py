"""Short JSON answers that need no Django."""

import json
from collections.abc import Iterable
from typing import Any

Header = tuple[bytes, bytes]


async def send_json(send: Any, status: int, body: Any, headers: Iterable[Header] = ()) -> None:
    """Answer with ``body`` as JSON."""
    await send_bytes(send, status, json.dumps(body).encode(), b"application/json", headers)


async def send_bytes(
    send: Any, status: int, content: bytes, kind: bytes, headers: Iterable[Header] = ()
) -> None:
    start = [(b"content-type", kind), (b"content-length", b"%d" % len(content)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": content})


async def refuse(send: Any, status: int, code: str, sentence: Any, headers: Iterable[Header] = ()) -> None:
    """An error in the server's one shape: ``{"detail": ..., "code": ...}``."""
    await send_json(send, status, {"detail": sentence, "code": code}, headers)


def header(scope: dict[str, Any], name: bytes) -> bytes | None:
    """The first header called ``name`` (lower case, as ASGI has them)."""
    for key, value in scope["headers"]:
        if key == name:
            return value
    return None
