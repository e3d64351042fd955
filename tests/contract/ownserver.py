"""Private servers, for tests that need their own options, data directory or a restart."""

import subprocess

import pytest

from tests.support.server import START_CMD, OwnServer

__all__ = ["SECRET_KEY", "SESSION_KEY", "START_CMD", "OwnServer", "own_server", "secured_server"]

SESSION_KEY = "conformance-session-key"
SECRET_KEY = "conformance-secret-key"


@pytest.fixture
def own_server(tmp_path):
    """Callable: start a private server with extra ``OH_*`` options; stopped when the test ends."""
    started = []

    def _start(stdin=subprocess.DEVNULL, **options):
        server = OwnServer(tmp_path / f"server{len(started)}", **options)
        started.append(server)
        return server.start(stdin=stdin)

    yield _start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def secured_server(tmp_path_factory):
    """One private server for the whole run, with a session key, a secret key and an open stdin."""
    server = OwnServer(
        tmp_path_factory.mktemp("secured"), OH_SESSION_API_KEYS_0=SESSION_KEY, OH_SECRET_KEY=SECRET_KEY
    )
    yield server.start(stdin=subprocess.PIPE)
    server.stop()
