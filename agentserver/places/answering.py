"""A runner answers what is passed on to it: the same API, on a port of its own, for holders of a ticket."""

import asyncio
import contextlib
import logging
from collections.abc import Generator
from typing import Any

import httpx
import uvicorn

from agentserver import conf, lifespan, threads
from agentserver.front.answers import header, refuse
from agentserver.front.gate import UNAUTHORIZED, Gate
from agentserver.places import directory, tickets

logger = logging.getLogger(__name__)

EVERYBODY = "0.0.0.0"  # noqa: S104  (only tickets open it)
START_SECONDS = 10.0


class Answering(Gate):
    """Lets in what another process of this server has let in."""

    async def __call__(self, scope, receive, send) -> None:
        query = scope["query_string"].decode("latin-1")
        target = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
        ticket = (header(scope, tickets.HEADER) or b"").decode("latin-1")
        scope["principal"] = tickets.redeem(ticket, scope["method"], target)
        if scope["principal"] is None:
            await refuse(send, 401, "unauthorized", UNAUTHORIZED)
        else:
            await self._use(scope, receive, send)


class Server(uvicorn.Server):
    """Beside other things in one process, which hears the signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


_server: Server | None = None


async def start(runner: str) -> None:
    """Answer at the port of ``OH_RUNNER_ADDRESS``, if it is set, and say so. Raises ConfigurationError."""
    global _server
    configuration = conf.current()
    if configuration.runner_address is None:
        return
    if not configuration.secret_key:
        raise conf.ConfigurationError("OH_RUNNER_ADDRESS needs OH_SECRET_KEY, the same in all processes.")
    port = httpx.URL(configuration.runner_address).port or 80
    _server = await _listening(port)
    await lifespan.begin("bash")
    await threads.run_in(threads.waiting(), directory.forget_gone, configuration.queues)
    lifespan.watch(asyncio.create_task(_stay(runner), name="place"))
    logger.info("What lies on this disk is answered for on port %d", port)


async def _listening(port: int) -> Server:
    from agentserver import asgi
    from agentserver.observability.requests import Requests

    application: Any = Requests(Answering(asgi.api))
    options: dict[str, Any] = {"lifespan": "off", "log_config": None, "access_log": False, "ws": "none"}
    server = Server(
        uvicorn.Config(
            application, EVERYBODY, port, server_header=False, timeout_graceful_shutdown=1, **options
        )
    )
    serving = asyncio.create_task(_serve(server), name="answering")
    lifespan.watch(serving)
    async with asyncio.timeout(START_SECONDS):
        while not (server.started or serving.done()):  # noqa: ASYNC110  (uvicorn tells nobody)
            await asyncio.sleep(0.02)
    if not server.started:
        raise conf.ConfigurationError(f"Port {port} of OH_RUNNER_ADDRESS cannot be listened on.")
    return server


async def _serve(server: Server) -> None:
    with contextlib.suppress(SystemExit):  # uvicorn's way to say that the port is taken
        await server.serve()


async def _stay(runner: str) -> None:
    configuration = conf.current()
    while True:
        try:
            await threads.run_in(
                threads.waiting(), directory.say, runner, configuration.queues, configuration.runner_address
            )
        except Exception as error:
            logger.warning("This place cannot be announced: %s. Trying again.", type(error).__name__)
        await asyncio.sleep(directory.SEEN_SECONDS)


async def stop(runner: str) -> None:
    """Answer no more, and end the commands that were started here."""
    if _server is None:
        return
    with contextlib.suppress(Exception):
        await threads.run_in(threads.waiting(), directory.leave, runner)
    _server.should_exit = True
    await lifespan.end("bash")
