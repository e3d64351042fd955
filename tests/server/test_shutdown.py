"""The server ends when it is told to, whatever it is doing."""

import contextlib
import signal
import time

import httpx
import pytest

from tests.support.server import OwnServer
from tests.support.waiting import wait_until


@pytest.fixture
def server(tmp_path):
    server = OwnServer(tmp_path / "server")
    yield server
    server.stop()


def is_alive(server):
    with contextlib.suppress(httpx.HTTPError):
        return server.http.get("/alive").status_code == 200


def test_a_server_that_is_still_starting_ends_in_time(server):
    server.launch()
    wait_until(lambda: is_alive(server), 60, message="/alive")
    assert "Agent SDK loaded" not in server.log.read_text()

    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(60) == 0
    assert time.monotonic() - began < 15
