"""Published clients, as npm has them: pinned here, fetched for the tests alone."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.server import OwnServer

HERE = Path(__file__).parent


def _npm(*arguments, cwd):
    """npm in ``cwd``. Without a registry the test is skipped, but not in CI."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed, so there is no client to drive the server with")
    done = subprocess.run(["npm", *arguments], cwd=cwd, capture_output=True, text=True, timeout=180)
    if done.returncode and "CI" not in os.environ:
        pytest.skip("the npm registry cannot be reached from here")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def npm():
    """Callable: run npm, see ``_npm``."""
    return _npm


@pytest.fixture(scope="session")
def npm_project(tmp_path_factory):
    """Callable: a copy of ``tests/clients/<name>``, or of a path, with what its package-lock.json names."""

    def _project(name):
        directory = tmp_path_factory.mktemp("clients") / Path(name).name
        shutil.copytree(HERE / name, directory, ignore=shutil.ignore_patterns("node_modules"))
        _npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=directory)
        return directory

    return _project


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server with a session key, as one that others can reach has it."""
    server = OwnServer(tmp_path_factory.mktemp("server"), OH_SESSION_API_KEYS_0="clients-session-key")
    try:
        yield server.start().wait_ready()
    finally:
        server.stop()
