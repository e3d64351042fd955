"""API_MIDDLEWARE: what views find on their request."""

from collections.abc import Callable
from typing import Any


def principal(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``request.principal``: who the gate let in; None on open routes."""

    def middleware(request: Any) -> Any:
        request.principal = request.scope.get("principal")
        return get_response(request)

    return middleware


def content_length(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Say how long an answer is, so that it need not go out in chunks."""

    def middleware(request: Any) -> Any:
        response = get_response(request)
        if not response.streaming and response.status_code not in (204, 304):
            response.headers.setdefault("Content-Length", str(len(response.content)))
        return response

    return middleware
