"""What starts with the server and ends with it, in order."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable

from agentserver import conf, environment, sdk, threads, writer
from agentserver.live import hub
from agentserver.observability import reports, tracing

logger = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 13
"""What all parts together may take; the promise is an exit within 15 s of SIGTERM."""

HAND_OVER_SECONDS = 1.5
"""What telling of errors and traces may take in the end."""

started_at = time.monotonic()

Part = Callable[[], Awaitable[None]]
_starts: list[tuple[str, Part]] = []
_stops: list[tuple[str, Part]] = []
_pending: set[str] = set()
_tasks: set[asyncio.Task[None]] = set()


def on_start(name: str, part: Part) -> None:
    """Run ``part`` in the background at start; ``/ready`` is 503 until it has returned."""
    _starts.append((name, part))


def on_stop(name: str, part: Part) -> None:
    """Await ``part`` at shutdown, before those registered earlier."""
    _stops.append((name, part))


async def begin(name: str) -> None:
    """Start one part, in a process that needs no others."""
    for known, part in _starts:
        if known == name:
            await part()


async def end(name: str) -> None:
    """Stop one part that was begun alone."""
    for known, part in _stops:
        if known == name:
            await part()


def waiting_for() -> list[str]:
    """The parts that have yet to start; empty when ready."""
    return sorted(_pending)


def watch(task: asyncio.Task[None]) -> None:
    """Keep a background task, log its failure, await it at shutdown."""
    _tasks.add(task)
    task.add_done_callback(_report)


def _report(task: asyncio.Task[None]) -> None:
    _tasks.discard(task)
    if not task.cancelled() and (error := task.exception()):
        logger.error("Background task %s failed", task.get_name(), exc_info=error)


async def startup() -> None:
    """Bind the hub and begin every part; returns at once, so that ``/alive`` answers."""
    reports.start(conf.current())
    tracing.start(conf.current())
    environment.withdraw()
    hub.bind(asyncio.get_running_loop())
    writer.current().start()
    sdk.start()
    for name, part in _starts:
        _pending.add(name)
        watch(asyncio.create_task(_begin(name, part), name=f"start-{name}"))


async def _begin(name: str, part: Part) -> None:
    await part()
    _pending.discard(name)


async def end_tasks() -> None:
    """Cancel the background tasks and wait for them."""
    for task in list(_tasks):
        task.cancel()
    await asyncio.gather(*_tasks, return_exceptions=True)


async def shutdown() -> None:
    """End every part, newest first; one that fails or hangs does not keep the others."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SHUTDOWN_SECONDS):
            for name, part in reversed(_stops):
                try:
                    await part()
                except Exception:
                    logger.exception("Stopping %s failed", name)
            await end_tasks()
    await hub.unbind()
    await asyncio.get_running_loop().run_in_executor(None, writer.current().close)
    await asyncio.get_running_loop().run_in_executor(None, hand_over)
    threads.shutdown()


def hand_over() -> None:
    """Give what was noticed until now to those who are told of it, if they take it in time."""
    handing = [threading.Thread(target=stop, daemon=True) for stop in (reports.stop, tracing.stop)]
    for thread in handing:
        thread.start()
    for thread in handing:
        thread.join(HAND_OVER_SECONDS / len(handing))


async def application(scope, receive, send) -> None:
    """The ASGI lifespan scope, which neither Django nor Channels answers."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            try:
                await startup()
            except Exception as error:
                logger.exception("The server cannot start")
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await shutdown()
            await send({"type": "lifespan.shutdown.complete"})
            return
