"""The application while the real one is being imported: ``/alive`` is answered, the rest waits.

Importing Django and the apps takes seconds; a service manager should see at once that the process
lives. What comes early is not refused but answered as soon as the application is there.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

from agentserver.front.answers import refuse, send_json

logger = logging.getLogger(__name__)


class Starting:
    """Wraps what ``load`` returns, which runs on a thread. ``failed`` is called on the loop if it raises."""

    def __init__(self, load: Callable[[], Any], failed: Callable[[], None]):
        self._load, self._failed = load, failed
        self.error: BaseException | None = None
        self._application: Any = None
        self._done: asyncio.Event = asyncio.Event()
        self._inner: _Lifespan | None = None

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._application is not None:
            await self._application(scope, receive, send)
        elif scope["type"] == "http" and scope["path"] == "/alive":
            await send_json(send, 200, {"status": "ok"})
        else:
            await self._wait_and_pass(scope, receive, send)

    async def _wait_and_pass(self, scope, receive, send) -> None:
        await self._done.wait()
        if self._application is not None:
            await self._application(scope, receive, send)
        elif scope["type"] == "http":
            await refuse(send, 503, "unavailable", "The server cannot start; its log says why.")
        else:
            await send({"type": "websocket.close", "code": 1013})

    async def _live(self, receive, send) -> None:
        await receive()  # startup
        beginning = asyncio.create_task(self._begin(), name="start-application")
        await send({"type": "lifespan.startup.complete"})
        await receive()  # shutdown
        if not beginning.done():
            beginning.cancel()
        await asyncio.gather(beginning, return_exceptions=True)
        if self._inner is not None:
            await self._inner.end()
        await send({"type": "lifespan.shutdown.complete"})

    async def _begin(self) -> None:
        try:
            application = await _on_thread(self._load)
            self._inner = _Lifespan(application)
            await self._inner.begin()
            self._application = application
        except Exception as error:
            self.error = error
            self._failed()
        finally:
            self._done.set()


class _Lifespan:
    """The lifespan of the wrapped application, driven step by step."""

    def __init__(self, application: Any):
        self._messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        running = application({"type": "lifespan"}, self._messages.get, self._answers.put)
        self._task = asyncio.create_task(running, name="lifespan")

    async def begin(self) -> None:
        answer = await self._step("lifespan.startup")
        if answer["type"] != "lifespan.startup.complete":
            raise RuntimeError(answer.get("message", "The application did not start."))

    async def end(self) -> None:
        if not self._task.done():
            await self._step("lifespan.shutdown")
            await self._task

    async def _step(self, kind: str) -> dict[str, Any]:
        await self._messages.put({"type": kind})
        return await self._answers.get()


async def _on_thread(function: Callable[[], Any]) -> Any:
    """Its result; on a daemon thread, so that a stop during the start does not wait for it."""
    loop, result = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

    def tell(setter: Callable[[Any], None], value: Any) -> None:
        if not result.done():
            setter(value)

    def work() -> None:
        try:
            outcome = result.set_result, function()
        except BaseException as error:
            outcome = result.set_exception, error
        try:
            loop.call_soon_threadsafe(tell, *outcome)
        except RuntimeError:  # the loop closed meanwhile
            logger.debug("The start was abandoned")

    threading.Thread(target=work, name="start-application", daemon=True).start()
    return await result
