"""Browser sessions of the dashboard and the admin, as far as the API accepts them."""

import io
from typing import Any

from django.conf import settings
from django.contrib import auth
from django.contrib.sessions.backends.db import SessionStore
from django.core.handlers.asgi import ASGIRequest
from django.middleware.csrf import CsrfViewMiddleware

from agentserver.auth import keys
from agentserver.auth.principals import OPERATOR, Principal, of_user

OPERATOR_MARK = "operator_mark"
"""Session entry of who logged in with a session key: the key's mark, so that it ends with the key."""
_SAFE = {"GET", "HEAD", "OPTIONS"}


class Forged(Exception):
    """A write without the CSRF token."""


class _Csrf(CsrfViewMiddleware):
    def _reject(self, request, reason):
        return reason


def is_in(scope: dict[str, Any]) -> bool:
    """Whether a session cookie was sent; no query."""
    name = f"{settings.SESSION_COOKIE_NAME}=".encode()
    return any(key == b"cookie" and name in value for key, value in scope["headers"])


def principal_of_scope(scope: dict[str, Any]) -> Principal | None:
    """Whose session it is; queries. Raises Forged for a write without the CSRF token."""
    request = ASGIRequest({"method": "GET", **scope}, io.BytesIO())
    request.session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    principal = principal_of(request)
    if principal is not None and request.method not in _SAFE:
        _check_csrf(request)
    return principal


def principal_of(request: Any) -> Principal | None:
    """The principal of a request that has a session: for pages and for ``principal_of_scope``."""
    mark = request.session.get(OPERATOR_MARK)
    if mark is not None and keys.is_mark(str(mark)):
        return OPERATOR
    return of_user(auth.get_user(request))


def _check_csrf(request: Any) -> None:
    check = _Csrf(lambda _: None)
    check.process_request(request)
    if check.process_view(request, None, (), {}) is not None:
        raise Forged
