"""An answer that is made piece by piece: a generator whose steps run on threads, one at a time."""

import threading
from collections.abc import AsyncIterator, Generator

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from agentserver import threads


class Steps:
    """Async iterator over a generator of bytes. A slow reader holds no thread; ``close`` ends it."""

    def __init__(self, pieces: Generator[bytes]):
        self._pieces, self._running = pieces, threading.Lock()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (piece := await threads.run_in(threads.files(), self._step)) is not None:
            if piece:
                yield piece

    def _step(self) -> bytes | None:
        with self._running:
            return next(self._pieces, None)

    def close(self) -> None:
        """Waits for the step that runs, if any."""
        with self._running:
            self._pieces.close()


def answer(
    request: HttpRequest, pieces: Generator[bytes], *, content_type: str, headers: dict[str, str]
) -> HttpResponseBase:
    """``pieces`` as a streamed answer; HEAD gets the headers alone."""
    headers = {**headers, "Content-Type": content_type}
    if request.method == "HEAD":
        pieces.close()
        return HttpResponse(headers=headers)
    return StreamingHttpResponse(Steps(pieces), headers=headers)
