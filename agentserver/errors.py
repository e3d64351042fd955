"""Errors with a code, a status and a sentence that says what to do; the one handler that answers them."""

import itertools
import logging
from collections.abc import Iterator
from typing import Any

from django.db import DataError
from django.http import Http404, HttpRequest, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response

from agentserver.causes import is_database_trouble
from agentserver.observability import disk

logger = logging.getLogger(__name__)


class Problem(exceptions.APIException):
    """An answer other than success. Subclasses name code, status and sentence."""

    status_code = 400
    code = "bad_request"
    sentence = "The request cannot be carried out as it is."

    def __init__(self, detail: Any = None):
        self.body = {"detail": detail if detail is not None else self.sentence, "code": self.code}
        super().__init__(str(self.body["detail"]))


class NotFound(Problem):
    status_code, code, sentence = 404, "not_found", "Not Found"


class Conflict(Problem):
    status_code, code, sentence = 409, "conflict", "The request conflicts with the present state."


class Invalid(Problem):
    """422. ``detail``: a list of {loc, msg, type} as clients of the reference expect."""

    status_code, code = 422, "invalid"


class TooLarge(Problem):
    status_code, code = 413, "too_large"
    sentence = "The request body is too large. Send less, or raise OH_MAX_BODY_BYTES."


class TooMany(Problem):
    status_code, code = 429, "too_many"
    sentence = (
        "As many conversations run as this server allows. "
        "Try again when one has ended, or raise OH_MAX_CONCURRENT_RUNS."
    )


class BadGateway(Problem):
    status_code, code = 502, "bad_gateway"
    sentence = "A service this server depends on did not answer."


class GatewayTimeout(Problem):
    status_code, code = 504, "upstream_timeout"
    sentence = "A service this server depends on did not answer in time. Try again later."


class Unavailable(Problem):
    status_code, code = 503, "unavailable"
    sentence = "The server is starting. Try again in some seconds."


class DatabaseAway(Unavailable):
    code, sentence = "database_away", "The database does not answer. Try again in some seconds."


class NoSpace(Problem):
    status_code, code = 507, "no_space"
    sentence = (
        "The disk of the server is full, so nothing was written. Free some space there and try again; "
        "reading goes on."
    )


def invalid(loc: list[Any], msg: str, kind: str = "value_error") -> Invalid:
    """One validation error at ``loc``; never put the refused value into ``msg``."""
    return Invalid([{"loc": loc, "msg": msg, "type": kind}])


def from_pydantic(error: Any, prefix: tuple[str, ...] = ("body",)) -> Invalid:
    """A pydantic ValidationError as our 422, without the input, which may hold secrets."""
    items = error.errors(include_url=False, include_context=False)
    return Invalid(
        [{"loc": [*prefix, *item["loc"]], "msg": _safe(item), "type": item["type"]} for item in items]
    )


# Messages of these quote what was refused: validators of the agent SDK, and tags of unions.
_QUOTING = {"value_error", "assertion_error", "union_tag_invalid", "import_error"}
_LONGEST = 300
_SHORTEST_SECRET = 4
_MOST_TEXTS = 5000


def _safe(item: dict[str, Any]) -> str:
    """The message without any text of the refused input, whole or as Python writes it."""
    message = str(item["msg"])
    if item["type"] not in _QUOTING:
        return message
    message = message.partition("input_value=")[0]  # another error's text, with part of its input
    texts = set(itertools.islice(_texts(item.get("input")), _MOST_TEXTS))
    for text in sorted(texts, key=len, reverse=True):
        for form in (text, repr(text)[1:-1]):
            if len(form) >= _SHORTEST_SECRET:
                message = message.replace(form, "***")
    return message if len(message) <= _LONGEST else message[:120] + " ..."


def _texts(value: Any) -> Iterator[str]:
    """Every text inside a JSON value; nested too deeply for Python's stack, it was refused before."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from itertools.chain.from_iterable(map(_texts, value.values()))
    elif isinstance(value, list | tuple):
        yield from itertools.chain.from_iterable(map(_texts, value))


CANNOT_BE_STORED = "A text is too long for its place, or has a character that cannot be stored."


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler: every error becomes JSON with ``detail``."""
    if isinstance(error, Problem):
        response = Response(error.body, status=error.status_code)
        response._has_been_logged = True  # it was meant; Django would log 5xx as the server's failure
        return response
    if isinstance(error, Http404):
        return Response({"detail": "Not Found", "code": "not_found"}, status=404)
    if isinstance(error, exceptions.APIException):
        body = {"detail": str(error.detail), "code": error.default_code}
        return Response(body, status=error.status_code, headers=_headers(error))
    if isinstance(error, DataError):  # PostgreSQL refuses what SQLite would take, such as NUL
        return answer(invalid(["body"], CANNOT_BE_STORED), context)
    if disk.is_full(error):
        logger.error("The disk is full: %s was refused", context["request"].path)
        return answer(NoSpace(), context)
    if is_database_trouble(error):
        logger.error("The database does not answer: %s was refused", context["request"].path)
        return answer(DatabaseAway(), context)
    logger.error("Request failed: %s", context["request"].path, exc_info=error)
    return Response({"detail": "Internal Server Error", "code": "internal"}, status=500)


def _headers(error: exceptions.APIException) -> dict[str, str]:
    wait = getattr(error, "wait", None)
    return {"Retry-After": str(int(wait))} if wait else {}


# Handlers of urls.py, for what happens outside a view.


def bad_request(request: HttpRequest, exception: Exception) -> JsonResponse:
    return JsonResponse({"detail": "Bad Request", "code": "bad_request"}, status=400)


def page_not_found(request: HttpRequest, exception: Exception) -> JsonResponse:
    return JsonResponse({"detail": "Not Found", "code": "not_found"}, status=404)


def server_error(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"detail": "Internal Server Error", "code": "internal"}, status=500)
