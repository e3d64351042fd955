"""The gate: everything not named as open needs a caller, before routing, reading or looking up.

It stands before the router, so that an odd spelling of a path (``//api``, ``/API``, ``/api/x/``) is
a stranger's 401 like any other.
"""

import logging
from typing import Any

from agentserver import activity, threads
from agentserver.auth import doors, initialization, keys, rights, sessions
from agentserver.causes import is_database_trouble
from agentserver.errors import DatabaseAway, NoSpace, Problem
from agentserver.front import bodies, origins
from agentserver.front.answers import refuse, send_json
from agentserver.observability import access, disk

logger = logging.getLogger(__name__)

OPEN = {"/", "/alive", "/health", "/ready", "/server_info", "/docs", "/redoc", "/openapi.json"}
OPEN_BELOW = ("/static/", "/demo/")
"""Web files hold no secret; the demo model is called by the server itself."""
PROBES = {"/alive", "/health", "/ready"}
Refusal = tuple[int, str, Any]
_READING = {"GET", "HEAD", "OPTIONS"}

UNAUTHORIZED = "Unauthorized"
FORBIDDEN = "Your account may not do this. Ask a member of staff."
UNKNOWN_HOST = (
    "This server has no session key, so it answers under the names of this machine only. Set "
    "OH_SESSION_API_KEYS_0 to a key, or OH_ALLOWED_HOSTS_0 to the name you use."
)
FOREIGN_PAGE = (
    "This server has no session key, so pages of other sites may not use it. Set OH_ALLOW_CORS_ORIGINS_0."
)
FORGED = "A write from a browser session needs the CSRF token in X-CSRFToken."
DORMANT = "The server waits for its configuration. Send POST /api/init first."
NOT_JSON = [
    {
        "loc": ["header", "content-type"],
        "msg": "The body must be JSON (application/json).",
        "type": "json_type",
    }
]


class Gate:
    """Wraps ``application``; ``pages`` are prefixes of pages for people, which have their own login."""

    def __init__(self, application: Any, pages: tuple[str, ...] = ()):
        self.application, self.pages = application, pages

    async def __call__(self, scope, receive, send) -> None:
        path = scope["path"]
        if path == "/alive" and scope["method"] in ("GET", "HEAD"):
            await send_json(send, 200, {"status": "ok"})
        elif access.may_scrape(scope):
            await self._pass(scope, receive, send)
        elif path not in PROBES and not keys.required() and not origins.knows_host(scope):
            await refuse(send, 400, "unknown_host", UNKNOWN_HOST)
        elif path in OPEN or path.startswith(OPEN_BELOW) or path.startswith(self.pages):
            await self._pass(scope, receive, send)
        else:
            await self._check(scope, receive, send)

    async def _check(self, scope, receive, send) -> None:
        try:
            principal = await self._caller(scope)
        except sessions.Forged:
            await refuse(send, 403, "csrf", FORGED)
            return
        if refusal := await _refusal(principal, scope):
            await refuse(send, *refusal)
            return
        scope["principal"] = principal
        await self._use(scope, receive, send)

    async def _caller(self, scope) -> doors.Principal | None:
        allowed = initialization.may_ask(scope)
        if allowed is None:
            return await doors.caller(scope)
        return doors.OPERATOR if allowed else None

    async def _use(self, scope, receive, send) -> None:
        """A request that is let in. Writing is use of the server, looking is not."""
        if scope["method"] in _READING:
            await self._pass(scope, receive, send)
            return
        activity.touch()
        try:
            await self._pass(scope, receive, send)
        finally:
            activity.touch()

    async def _pass(self, scope, receive, send) -> None:
        answer = _Started(send)
        try:
            await self.application(scope, bodies.limited(scope, receive), answer)
        except Problem as problem:
            if answer.started:
                raise
            await send_json(send, problem.status_code, problem.body)
        except Exception as error:
            if answer.started:
                raise
            if disk.is_full(error):
                logger.error("The disk is full: %s was refused", scope["path"])  # noqa: TRY400
                await send_json(send, NoSpace.status_code, NoSpace().body)
                return
            if is_database_trouble(error):
                logger.error("The database does not answer: %s was refused", scope["path"])  # noqa: TRY400
                await send_json(send, DatabaseAway.status_code, DatabaseAway().body)
                return
            logger.exception("Request failed: %s", scope["path"])
            await refuse(send, 500, "internal", "Internal Server Error")


class _Started:
    """``send`` that knows whether an answer has begun."""

    def __init__(self, send: Any):
        self._send, self.started = send, False

    async def __call__(self, message: dict[str, Any]) -> None:
        self.started = True
        await self._send(message)


async def _refusal(principal: doors.Principal | None, scope: dict[str, Any]) -> Refusal | None:
    """Why the request is not let in: status, code and sentence."""
    if principal is None:
        return 401, "unauthorized", UNAUTHORIZED
    if initialization.dormant() and scope["path"].rstrip("/") != initialization.PATH:
        return 503, "dormant", DORMANT
    if not keys.required() and (refusal := _foreign(scope)):
        return refusal
    return None if principal.operator else await _beyond(principal, scope)


def _foreign(scope: dict[str, Any]) -> Refusal | None:
    """The refusal for what a page of another site may have sent to a server without keys."""
    if scope["method"] in _READING:
        return None
    if origins.is_foreign(scope):
        return 403, "foreign_origin", FOREIGN_PAGE
    return (422, "invalid", NOT_JSON) if bodies.is_unasked_kind(scope) else None


async def _beyond(principal: doors.Principal, scope: dict[str, Any]) -> Refusal | None:
    """The refusal for what is not a user's own."""
    if not rights.allow(principal, scope):
        return 403, "forbidden", FORBIDDEN
    conversation_id = rights.subject(scope["path"])
    if conversation_id is None:
        return None
    seen = await threads.run_in(threads.reading(), rights.sees, principal, conversation_id)
    return None if seen else (404, "not_found", "Not Found")
