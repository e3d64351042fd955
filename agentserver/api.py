"""The API's front: a lean ASGI handler, JSON in and out, and parsing with the SDK's own models."""

import asyncio
import io
import json
from typing import Any

import orjson
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpResponseBase
from django.urls import ResolverMatch, get_resolver, set_urlconf
from django.utils.module_loading import import_string
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from agentserver import threads
from agentserver.bodies import ArrivingBody
from agentserver.errors import Problem, TooLarge, from_pydantic, invalid


class ApiHandler(ASGIHandler):
    """Serves views on ``API_MIDDLEWARE`` alone, each on a pooled thread.

    A view class with ``waits = True`` (or a set of action names) answers on the pool for requests
    that wait, so that those never use up the threads of the quick ones.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        self._view_middleware, self._template_response_middleware = [], []
        self._exception_middleware = []
        chain = convert_exception_to_response(self._get_response)
        for path in reversed(settings.API_MIDDLEWARE):
            chain = convert_exception_to_response(import_string(path)(chain))
        self._middleware_chain = chain

    async def __call__(self, scope, receive, send) -> None:
        # The request comes first: its view says how its body is to be read.
        request, response = self.create_request(scope, io.BytesIO())
        pool = self._pool(request) if request is not None else None
        try:
            body = await self._body(request, receive)
        except RequestAborted:
            return
        try:
            if request is not None:
                request._stream = body
                response = await threads.run_in(pool, self.get_response, request)
            response._handler_class = self.__class__
            await self._deliver(response, receive, send)
        finally:
            body.close()

    async def _body(self, request, receive):
        """All of the body, spooled; or the body as it arrives, for a view with ``streams_body = True``."""
        match = getattr(request, "_match", None)
        if match is not None and getattr(getattr(match.func, "cls", None), "streams_body", False):
            return ArrivingBody(receive, asyncio.get_running_loop())
        return await self.read_body(receive)

    def resolve_request(self, request):
        """The match that ``_pool`` has found already."""
        match = request._match
        if match is None:
            return super().resolve_request(request)  # raises the 404
        request.resolver_match = match
        return match

    def _pool(self, request):
        set_urlconf(settings.ROOT_URLCONF)
        try:
            request._match = get_resolver().resolve(request.path_info)
        except Exception:
            request._match = None
            return threads.requests()
        return threads.waiting() if waits(request._match, request.method) else threads.requests()

    async def _deliver(self, response: HttpResponseBase, receive, send) -> None:
        if not response.streaming:
            await self.send_response(response, send)
            return
        # A stream may be endless: the reader's leaving ends it.
        sending = asyncio.create_task(self.send_response(response, send), name="send-response")
        leaving = asyncio.create_task(self.listen_for_disconnect(receive), name="watch-disconnect")
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            outcome, _ = await asyncio.gather(sending, leaving, return_exceptions=True)
            await threads.run_in(threads.requests(), response.close)
        if isinstance(outcome, Exception):
            raise outcome


def waits(match: ResolverMatch, method: str) -> bool:
    """Whether the matched view says that it waits."""
    view = getattr(match.func, "cls", None) or getattr(match.func, "view_class", None)
    said = getattr(view, "waits", False)
    if isinstance(said, (set, frozenset)):
        actions = getattr(match.func, "actions", {})
        return actions.get(method.lower()) in said
    return bool(said)


class Raw(str):
    """JSON text that is ready to be sent as it is."""


class JSONRenderer(BaseRenderer):
    """JSON by orjson; ``Raw`` passes through untouched."""

    media_type, format, charset = "application/json", "json", None

    def render(self, data, accepted_media_type=None, renderer_context=None) -> bytes:
        if data is None:
            return b"" if _has_no_body(renderer_context) else b"null"
        if isinstance(data, Raw):
            return data.encode("utf-8", "surrogatepass")
        return dumps(data)


def _has_no_body(context) -> bool:
    return bool(context) and context["response"].status_code in (204, 304)


def dumps(data: Any) -> bytes:
    """``data`` as JSON; text that UTF-8 cannot hold (lone surrogates) is escaped."""
    try:
        return orjson.dumps(data, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, orjson.JSONEncodeError):
        return json.dumps(data, default=str).encode()


class JSONParser(BaseParser):
    """JSON bodies. The stated content type does not matter to real clients, the content does."""

    media_type = "*/*"

    def parse(self, stream, media_type=None, parser_context=None) -> Any:
        raw = stream.read(settings.CONFIGURATION.max_body_bytes + 1)
        if len(raw) > settings.CONFIGURATION.max_body_bytes:
            raise TooLarge()
        return loads(raw)


def loads(raw: bytes) -> Any:
    """The JSON in ``raw``; None for an empty body. Raises Invalid (422)."""
    if not raw.strip():
        return None
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    try:  # what orjson refuses and others send: NaN, lone surrogates, stray bytes
        return repaired(json.loads(raw.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        raise invalid(["body"], "The body is not JSON.", "json_invalid") from None


def repaired(value: Any) -> Any:
    """``value`` with lone surrogates, which no UTF-8 can hold, replaced in every text."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [repaired(item) for item in value]
    if isinstance(value, dict):
        return {repaired(key): repaired(item) for key, item in value.items()}
    return value


def parse[T](request: Request, model: type[T]) -> T:
    """The request's body as ``model`` (a pydantic model). Raises Invalid (422)."""
    if request.data is None:
        raise invalid(["body"], "Field required", "missing")
    return validated(request.data, model)


def validated[T](data: Any, model: type[T]) -> T:
    """``data`` as ``model`` (a pydantic model). Raises Invalid (422)."""
    from pydantic import ValidationError

    try:
        return model.model_validate(data)  # type: ignore[attr-defined]
    except ValidationError as error:
        raise from_pydantic(error) from None
    except Problem:
        raise
    except Exception:
        # Validators of the SDK meet a type they did not expect, or raise errors of their own.
        raise invalid(["body"], "The body does not have the expected shape.") from None


def limit_of(request: Request, default: int = 100) -> int:
    """The ``limit`` parameter: 1 to 100, anything else is 422."""
    return integer(request, "limit", default, 1, 100)


def integer(request: Request, name: str, default: int, low: int, high: int) -> int:
    """An integer parameter within bounds. Raises Invalid (422)."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.lstrip("-").isascii() or not text.lstrip("-").isdigit() or not low <= int(text) <= high:
        raise invalid(["query", name], f"Input should be a whole number from {low} to {high}", "int_range")
    return int(text)


BOOLEANS = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}
"""How a boolean may be written in a query."""


def flag(request: Request, name: str, default: bool = False) -> bool:
    """A boolean parameter: true/false, 1/0, yes/no, on/off. Raises Invalid (422)."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if text.lower() not in BOOLEANS:
        raise invalid(["query", name], "Input should be a valid boolean", "bool_parsing")
    return BOOLEANS[text.lower()]


def choice(request: Request, name: str, allowed: set[str], default: str | None = None) -> str | None:
    """A parameter out of ``allowed``. Raises Invalid (422)."""
    text = request.query_params.get(name, default)
    if text is not None and text not in allowed:
        raise invalid(["query", name], f"Input should be one of {', '.join(sorted(allowed))}", "enum")
    return text
