"""The cookie that shows workspace files in frames and images, where no header can be sent."""

import re
from typing import Any

from django.core import signing

from agentserver.auth import keys, tokens
from agentserver.auth.principals import OPERATOR, Principal, of_user

NAME = "oh_workspace_session_key"
PATH = "/api/conversations"
MAX_AGE_SECONDS = 30 * 24 * 3600
_SALT = "workspace-session"
_FILES = re.compile(r"/api/conversations/[^/]+/workspace(/.*)?", re.DOTALL)


def opens(scope: dict[str, Any]) -> bool:
    """Whether the cookie counts for this request: reading workspace files, nothing else.

    A browser sends it by itself, so whatever else it opened could be forged by another site.
    """
    return scope["method"] in ("GET", "HEAD") and bool(_FILES.fullmatch(scope["path"]))


def value_for(principal: Principal, given: bytes | None) -> str:
    """What the cookie holds: a signed name of the caller, so that a stolen one opens files alone."""
    key = keys.matches(given) if given else None
    if key is not None:
        subject = f"k{keys.mark_of(key)}"
    else:
        subject = f"u{principal.user_id}" if principal.user_id is not None else "o"
    return signing.TimestampSigner(salt=_SALT).sign(subject)


def in_headers(headers: Any) -> str | None:
    """The cookie's value in raw headers."""
    for name, value in headers:
        if name != b"cookie":
            continue
        for part in value.decode("latin-1").split(";"):
            cookie, _, text = part.strip().partition("=")
            if cookie == NAME:
                return text.strip('"')
    return None


def principal_of(value: str) -> Principal | None:
    """Who the cookie stands for. May query; call on a thread. Session keys themselves count too."""
    given = value.encode("latin-1", "replace")
    if keys.matches(given):
        return OPERATOR
    if tokens.looks_like_one(given):
        return tokens.principal_of(given)
    try:
        subject = signing.TimestampSigner(salt=_SALT).unsign(value, max_age=MAX_AGE_SECONDS)
    except signing.BadSignature:
        return None
    return _of_subject(subject)


def _of_subject(subject: str) -> Principal | None:
    kind, rest = subject[:1], subject[1:]
    if kind == "k":
        return OPERATOR if keys.is_mark(rest) else None
    if kind == "u" and rest.isdigit():
        from django.contrib.auth import get_user_model

        return of_user(get_user_model().objects.filter(pk=int(rest)).first())
    return OPERATOR if kind == "o" and not keys.required() else None


def written(value: str, *, secure: bool) -> str:
    """The Set-Cookie header. ``secure``: behind TLS or on this machine; else other sites' frames get none."""
    age = MAX_AGE_SECONDS if value else 0
    text = f"{NAME}={value}; HttpOnly; Max-Age={age}; Path={PATH}; SameSite=none"
    return f"{text}; Secure; Partitioned" if secure else text
