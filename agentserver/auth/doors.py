"""The doors: what turns a request or a socket into a principal, or refuses it.

Everything that may query runs on a thread of ``threads.reading``; a session key costs no query.
"""

import json
from typing import Any
from urllib.parse import parse_qs

from agentserver import threads
from agentserver.auth import initialization, keys, sessions, tokens, workspace_cookie
from agentserver.auth.principals import OPERATOR, Principal
from agentserver.front import origins

__all__ = ["OPERATOR", "Denied", "Principal", "caller", "first_message_principal", "page_principal"]

BASH_SOCKETS = "/sockets/bash-events"


class Denied(Exception):
    """A key was given and is wrong, or the caller's page is foreign."""


async def caller(scope: dict[str, Any]) -> Principal | None:
    """Who sends an HTTP request; None for a stranger. Raises ``sessions.Forged``.

    A key that is given decides alone, except for workspace files, where a browser may send an old
    cookie beside a new key or the other way round.
    """
    given = keys.given_in(scope["headers"])
    if given is None and scope["path"].startswith("/v1/"):
        given = _bearer(scope)
    principal = await of_key(given) if given is not None else None
    if principal is None and workspace_cookie.opens(scope):
        principal = await _of_workspace_cookie(scope)
    if principal is None and given is None and sessions.is_in(scope) and not _of_other_page(scope):
        principal = await threads.run_in(threads.reading(), sessions.principal_of_scope, scope)
    if principal is None and not keys.required():
        return OPERATOR
    return principal


async def of_key(given: bytes) -> Principal | None:
    """The holder of a session key or token."""
    if keys.matches(given) is not None:
        return OPERATOR
    if tokens.looks_like_one(given):
        return await threads.run_in(threads.reading(), tokens.principal_of, given)
    return None


async def socket_principal(scope: dict[str, Any]) -> Principal | None:
    """Who opens a socket: query first, then header, then browser session.

    None: no key came with it, the first message must bring one. Raises Denied.
    """
    if initialization.dormant():
        raise Denied
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    given = keys.given_in(scope["headers"])
    if "session_api_key" in query:
        given = query["session_api_key"][-1].encode("utf-8", "surrogateescape")
    if not keys.required() and (given is None or not tokens.looks_like_one(given)):
        return _local(scope)
    if given is not None:
        return _admitted(scope, await of_key(given))
    if sessions.is_in(scope) and not _of_other_page(scope):
        principal = await threads.run_in(threads.reading(), sessions.principal_of_scope, scope)
        return _admitted(scope, principal) if principal is not None else None
    return None


async def first_message_principal(scope: dict[str, Any], text: str | None) -> Principal | None:
    """The principal of ``{"type": "auth", "session_api_key": KEY}``."""
    try:
        message = json.loads(text or "")
        key = message["session_api_key"] if message.get("type") == "auth" else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if not isinstance(key, str):
        return None
    principal = await of_key(key.encode("utf-8", "surrogatepass"))
    return principal if principal is not None and _may_watch(scope, principal) else None


def page_principal(request: Any) -> Principal | None:
    """Who looks at a page for people (it has a session); None: send them to the login page."""
    principal = sessions.principal_of(request)
    if principal is None and not keys.required():
        return OPERATOR
    return principal


def _local(scope: dict[str, Any]) -> Principal:
    """Anybody on this machine, but no page of another site: CORS does not cover sockets."""
    if not origins.knows_host(scope) or origins.is_foreign(scope):
        raise Denied
    return OPERATOR


def _admitted(scope: dict[str, Any], principal: Principal | None) -> Principal:
    if principal is None or not _may_watch(scope, principal):
        raise Denied
    return principal


def _may_watch(scope: dict[str, Any], principal: Principal) -> bool:
    """Whether the socket is for them at all. Everybody's commands are for operators only."""
    return principal.operator or not scope["path"].startswith(BASH_SOCKETS)


async def _of_workspace_cookie(scope: dict[str, Any]) -> Principal | None:
    value = workspace_cookie.in_headers(scope["headers"])
    if not value:
        return None
    return await threads.run_in(threads.reading(), workspace_cookie.principal_of, value)


def _of_other_page(scope: dict[str, Any]) -> bool:
    """A page of any other origin, also an allowed one: browsers send cookies along by themselves."""
    origin = origins.origin_of(scope)
    return origin is not None and not origins.is_own(scope, origin)


def _bearer(scope: dict[str, Any]) -> bytes | None:
    """The key of OpenAI clients, which know no other header."""
    for name, value in scope["headers"]:
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            return value[7:].strip()
    return None
