"""A request body that a view reads while it arrives, so that an upload is written once."""

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine
from typing import Any

from agentserver.errors import Problem

SILENCE_SECONDS = 60
"""How long a client may send nothing before its upload is given up."""


class Stalled(Problem):
    status_code, code = 408, "stalled"
    sentence = "The body of the request stopped arriving. Send it again."


class BrokenOff(Problem):
    code, sentence = "broken_off", "The body of the request broke off. Send it again."


class ArrivingBody:
    """A file-like body. ``read`` is for the view's thread; what is not read stays with the client."""

    def __init__(
        self, receive: Callable[[], Coroutine[Any, Any, dict[str, Any]]], loop: asyncio.AbstractEventLoop
    ):
        self._receive, self._loop = receive, loop
        self._buffer, self._ended = bytearray(), False

    def read(self, size: int | None = -1) -> bytes:
        """Up to ``size`` bytes, fewer only at the end. Raises BrokenOff, Stalled. Never on the loop."""
        everything = size is None or size < 0
        while not self._ended and (everything or len(self._buffer) < size):
            self._take(self._next())
        part = bytes(self._buffer if everything else self._buffer[:size])
        del self._buffer[: len(part)]
        return part

    def close(self) -> None:
        self._buffer.clear()

    def _next(self) -> dict[str, Any]:
        waiting = asyncio.run_coroutine_threadsafe(self._receive(), self._loop)
        try:
            return waiting.result(SILENCE_SECONDS)
        except concurrent.futures.TimeoutError:
            waiting.cancel()
            raise Stalled() from None

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.disconnect":
            raise BrokenOff()
        self._buffer += message.get("body", b"")
        self._ended = not message.get("more_body", False)
