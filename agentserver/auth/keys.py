"""Session keys of the configuration, and the marks that stand for them in cookies and sessions."""

import hashlib
import hmac
from collections.abc import Iterable

from agentserver import conf

HEADER = b"x-session-api-key"


def required() -> bool:
    """Whether strangers are kept out; without keys the server is for this machine only."""
    return bool(conf.current().session_api_keys)


def matches(given: bytes) -> str | None:
    """The session key that ``given`` is; constant time in the content, any bytes allowed."""
    found = None
    for key in conf.current().session_api_keys:
        if hmac.compare_digest(given, key.encode("utf-8", "surrogateescape")):
            found = key
    return found


def given_in(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """What the header brings. Two headers are no key: proxies differ in which of them they read."""
    given = [value for name, value in headers if name.lower() == HEADER]
    if not given:
        return None
    return given[0] if len(given) == 1 else b""


def mark_of(key: str) -> str:
    """Stands for ``key`` where the key itself should not lie; ends with it."""
    return hashlib.sha256(f"mark:{key}".encode("utf-8", "surrogateescape")).hexdigest()[:32]


def is_mark(mark: str) -> bool:
    """Whether ``mark`` stands for a session key of today."""
    found = False
    for key in conf.current().session_api_keys:
        found |= hmac.compare_digest(mark.encode("utf-8", "replace"), mark_of(key).encode())
    return found
