"""Who is calling: the one place that turns keys, tokens and sessions into a principal."""

import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from agentserver import conf


class Denied(Exception):
    """A key was given and is wrong, or the caller's origin is foreign."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who acts. ``operator``: a session key, or anybody where there are none."""

    operator: bool = True
    user_id: int | None = None


OPERATOR = Principal()


def keys_required() -> bool:
    return bool(conf.current().session_api_keys)


def is_session_key(given: bytes) -> bool:
    """Whether ``given`` is a session key; constant time in the content, any bytes allowed."""
    found = False
    for key in conf.current().session_api_keys:
        found |= hmac.compare_digest(given, key.encode())
    return found


def of_headers(headers: Iterable[tuple[bytes, bytes]]) -> Principal | None:
    """The principal of raw ASGI headers; None without a valid key."""
    if not keys_required():
        return OPERATOR
    given = [value for name, value in headers if name.lower() == b"x-session-api-key"]
    return OPERATOR if given and is_session_key(given[0]) else None


async def socket_principal(scope: dict[str, Any]) -> Principal | None:
    """Query first, then header. None: none given, the first message must bring one. Raises Denied."""
    if not keys_required():
        return OPERATOR
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if "session_api_key" in query:
        given = query["session_api_key"][-1].encode("utf-8", "surrogateescape")
        return _or_denied(given)
    for name, value in scope["headers"]:
        if name.lower() == b"x-session-api-key":
            return _or_denied(value)
    return None


async def first_message_principal(text: str | None) -> Principal | None:
    """The principal of ``{"type": "auth", "session_api_key": KEY}``."""
    try:
        message = json.loads(text or "")
        key = message["session_api_key"] if message.get("type") == "auth" else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    if not isinstance(key, str) or not is_session_key(key.encode("utf-8", "surrogatepass")):
        return None
    return OPERATOR


def _or_denied(given: bytes) -> Principal:
    if not is_session_key(given):
        raise Denied
    return OPERATOR
