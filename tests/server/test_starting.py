"""While the application is being imported: alive at once, early requests answered, failures told."""

import asyncio
import threading

import httpx
import pytest

from agentserver.front.answers import send_json
from agentserver.front.starting import Starting


async def _application(scope, receive, send):
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": f"{message['type']}.complete"})
        await send({"type": "lifespan.shutdown.complete"})
    else:
        await send_json(send, 200, {"path": scope["path"]})


class Served:
    """An application under a lifespan of its own, as a server runs it."""

    def __init__(self, load):
        self.failed = asyncio.Event()
        self.application = Starting(load, self.failed.set)
        self.told, self.answers = asyncio.Queue(), asyncio.Queue()

    async def __aenter__(self):
        running = self.application({"type": "lifespan"}, self.told.get, self.answers.put)
        self.task = asyncio.create_task(running)
        await self.told.put({"type": "lifespan.startup"})
        assert (await self.answers.get())["type"] == "lifespan.startup.complete"
        return self

    async def __aexit__(self, *_):
        await self.told.put({"type": "lifespan.shutdown"})
        assert (await self.answers.get())["type"] == "lifespan.shutdown.complete"
        await self.task

    async def get(self, path):
        transport = httpx.ASGITransport(app=self.application)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get(path)


async def test_alive_is_answered_and_the_rest_waits_for_the_application():
    go = threading.Event()

    def load():
        go.wait(10)
        return _application

    async with Served(load) as served:
        early = asyncio.create_task(served.get("/early"))
        assert (await served.get("/alive")).json() == {"status": "ok"}
        assert not early.done()
        go.set()
        assert (await early).json() == {"path": "/early"}


async def test_a_failure_is_told_and_early_requests_are_503():
    def load():
        raise ValueError("no database")

    async with Served(load) as served:
        await asyncio.wait_for(served.failed.wait(), 5)
        assert (await served.get("/early")).status_code == 503
        assert str(served.application.error) == "no database"


async def test_a_stop_does_not_wait_for_the_import():
    go = threading.Event()
    try:
        async with asyncio.timeout(5):
            async with Served(lambda: go.wait(60)):
                pass
    finally:
        go.set()


@pytest.mark.parametrize("kind", ["lifespan.startup.failed"])
async def test_an_application_that_refuses_to_start_is_a_failure(kind):
    async def refusing(scope, receive, send):
        await receive()
        await send({"type": kind, "message": "the writer is gone"})

    async with Served(lambda: refusing) as served:
        await asyncio.wait_for(served.failed.wait(), 5)
        assert "the writer is gone" in str(served.application.error)
