"""Request bodies: not larger than allowed, and of a kind that no foreign page can send unasked."""

from typing import Any

from agentserver import conf
from agentserver.errors import TooLarge
from agentserver.front.answers import header

# What a form or a script of any site may send without asking first (CORS "simple requests").
_UNASKED = (b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data")
_UPLOADS = "/file/upload"


def limited(scope: dict[str, Any], receive: Any) -> Any:
    """``receive`` that raises TooLarge beyond the limit. Raises it at once for a stated length."""
    most = _most(scope)
    stated = header(scope, b"content-length")
    if stated is not None and stated.isdigit() and int(stated) > most:
        raise TooLarge()
    if stated is not None and stated.isdigit():
        return receive  # the server in front of us holds the client to what it stated
    return _counting(receive, most)


def is_unasked_kind(scope: dict[str, Any]) -> bool:
    """Whether the body's kind is no JSON but one that a form of another site could have sent."""
    kind = (header(scope, b"content-type") or b"").split(b";")[0].strip().lower()
    if kind == b"multipart/form-data" and scope["path"].rstrip("/").endswith(_UPLOADS):
        return False
    return kind in _UNASKED


def _most(scope: dict[str, Any]) -> int:
    configuration = conf.current()
    kind = header(scope, b"content-type") or b""
    if kind.lower().startswith(b"multipart/") or scope["path"].rstrip("/").endswith(_UPLOADS):
        return configuration.max_upload_bytes
    return configuration.max_body_bytes


def _counting(receive: Any, most: int) -> Any:
    seen = 0

    async def receiving() -> dict[str, Any]:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLarge()
        return message

    return receiving
