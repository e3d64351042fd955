"""One cluster for all tests here: two web processes and two runners on PostgreSQL and Redis."""

import os
import re
import shlex
import subprocess
import sys

import psutil
import pytest

from tests.contract.conftest import agent_config, llm_config, workspace  # noqa: F401  (fixtures)
from tests.contract.dialogue import Dialogue
from tests.engines.test_other_engines import ROOT, listens
from tests.support import cluster
from tests.support import services as support
from tests.support.server import MANAGE, OwnServer, data_directory

STARTS = 180
"""Seconds in which four processes on two cores have imported the agent SDK."""


class Cluster(OwnServer):
    command = (
        f"cd {shlex.quote(str(MANAGE.parent))} && "
        f"exec {shlex.quote(sys.executable)} -m tests.support.cluster --port {{port}}"
    )

    def processes(self, command):
        """The cluster's processes of a command of manage.py."""
        children = psutil.Process(self.process.pid).children()
        return [child for child in children if command in child.cmdline()]


@pytest.fixture(scope="session")
def services():
    """Where PostgreSQL and Redis are: some of our own, which allow as many connections as clusters want.

    Where there are no programs to start, those that run here or are given.
    """
    if lack := support.missing():
        if not (listens(cluster.SERVER) and listens(cluster.REDIS)):
            pytest.skip(
                f"no PostgreSQL (TEST_CLUSTER_DATABASE_URL) and Redis (TEST_REDIS_URL) run here; {lack}"
            )
        yield {"TEST_CLUSTER_DATABASE_URL": cluster.SERVER, "TEST_REDIS_URL": cluster.REDIS}
        return
    postgresql, redis = support.PostgreSQL(), support.Redis()
    try:
        postgresql.start()
        redis.start()
        yield {"TEST_CLUSTER_DATABASE_URL": postgresql.url, "TEST_REDIS_URL": redis.url}
    finally:
        postgresql.remove()
        redis.remove()


@pytest.fixture(scope="session")
def scaled(tmp_path_factory, services):
    """The cluster, ready."""
    server = Cluster(tmp_path_factory.mktemp("cluster"), OH_SECRET_KEY="tests-secret-key", **services)
    try:
        yield server.start(timeout=STARTS).wait_ready(STARTS)
    finally:
        server.stop(timeout=45)
        cluster.drop_database(str(data_directory(server.root)), services["TEST_CLUSTER_DATABASE_URL"])


@pytest.fixture
def contract(scaled, llm_url):
    """Callable: run tests of the contract suite that are about a given server, against the cluster."""

    def _run(chosen, seconds):
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "tests.scale.given", *chosen],
            cwd=ROOT,
            env={**os.environ, "AGENT_SERVER_URL": scaled.url, "FAKE_LLM_URL": llm_url},
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
        print(run.stdout[-300:])

    return _run


@pytest.fixture
def open_conversation(scaled, llm_url, agent_config, workspace):  # noqa: F811
    """Callable: start a conversation with these steps; deleted when the test ends."""
    opened = []

    def _open(*steps):
        opened.append(Dialogue.open(scaled.http, llm_url, agent_config, workspace, *steps))
        return opened[-1]

    yield _open
    for conversation in opened:
        conversation.delete()


@pytest.fixture
def runner_of(workspace, wait_until):  # noqa: F811
    """Callable: the runner process that a conversation's command wrote its ``$TMUX`` for (see ``place``)."""

    def _find(name):
        path = workspace / name
        wait_until(
            lambda: path.exists() and path.read_text().strip(), 30, message=f"a command that writes {name}"
        )
        return psutil.Process(int(re.search(r"/(\d+)/tmux-", path.read_text())[1]))

    return _find


@pytest.fixture
def place():
    """Callable: shell code that notes in a file which runner executes it."""
    return lambda name: f"echo $TMUX >> {name}"
