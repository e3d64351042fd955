"""Runners with disks of their own: a conversation stays with its disk, which answers for itself.

A disk is a directory here: ``/proc/self/cwd`` leads every process to its own.
"""

import os

import httpx
import psutil
import pytest

from tests.contract.conftest import agent_config, llm_config  # noqa: F401  (fixtures)
from tests.contract.dialogue import Dialogue, finish, write
from tests.contract.kit import unique
from tests.scale.conftest import STARTS, Cluster
from tests.support import cluster
from tests.support.server import data_directory

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

WORKSPACE = "/proc/self/cwd/workspace"
MOST = 40
"""Conversations until both disks have one; each takes one by chance."""


@pytest.fixture(scope="module")
def disks(tmp_path_factory, services):
    """A cluster whose two runners have a disk each; ``disks``: their directories."""
    root = tmp_path_factory.mktemp("places")
    server = Cluster(root, OH_SECRET_KEY="tests-secret-key", **services)
    server.command += f" --own-disks {root}"
    server.disks = [directory for _, directory in cluster.disks(root, cluster.RUNNERS)]
    try:
        yield server.start(timeout=STARTS).wait_ready(STARTS)
    finally:
        server.stop(timeout=45)
        cluster.drop_database(str(data_directory(root)), services["TEST_CLUSTER_DATABASE_URL"])


@pytest.fixture(scope="module")
def each(disks, llm_url):
    """(disk, conversation) for each disk; the conversation has written a file there, its ``note``."""
    llm = {"usage_id": "t", "model": "openai/fake", "base_url": f"{llm_url}/v1", "api_key": "k"}
    agent = {"kind": "Agent", "llm": llm, "tools": [{"name": "file_editor", "params": {}}]}
    found = {}
    for _ in range(MOST):
        name = unique("note")
        conversation = Dialogue.open(
            disks.http, llm_url, agent, WORKSPACE, write(f"{WORKSPACE}/{name}", name), finish()
        )
        conversation.wait_finished(timeout=90)
        (disk,) = [one for one in disks.disks if (one / "workspace" / name).exists()]
        conversation.note = name
        found.setdefault(disk, conversation)
        if len(found) == len(disks.disks):
            return list(found.items())
    raise AssertionError("all conversations went to one disk")


def test_files_are_answered_by_the_runner_that_has_them(disks, each):
    large = os.urandom(5_000_000)
    for disk, conversation in each:
        for _ in range(2):  # by either web process
            asked = {"path": f"{WORKSPACE}/{conversation.note}"}
            answer = disks.http.get(f"{conversation.path}/file/download", params=asked)
            assert (answer.status_code, answer.text) == (200, conversation.note)
            assert answer.headers["content-length"] == str(len(conversation.note))

        put = {"path": f"{WORKSPACE}/large"}
        answer = disks.http.post(f"{conversation.path}/file/upload", params=put, files={"file": large})
        assert answer.json()["file_size"] == len(large)
        assert (disk / "workspace" / "large").read_bytes() == large
        part = disks.http.get(
            f"{conversation.path}/file/download", params=put, headers={"Range": "bytes=1000-4000999"}
        )
        assert (part.status_code, part.content) == (206, large[1000:4001000])
        missing = disks.http.get(f"{conversation.path}/file/download", params={"path": f"{WORKSPACE}/none"})
        assert (missing.status_code, missing.json()["code"]) == (404, "not_found")


def test_bash_and_git_are_answered_there_too(disks, each):
    for disk, conversation in each:
        order = {"command": "git init -q . && echo changed > new-file && pwd -P"}
        answer = disks.http.post(f"{conversation.path}/bash/execute_bash_command", json=order).json()
        assert answer["stdout"].strip() == str((disk / "workspace").resolve())

        changes = disks.http.get(f"{conversation.path}/git/changes", params={"path": WORKSPACE}).json()
        assert "new-file" in str(changes)


def test_without_a_conversation_nobody_guesses_which_disk_is_meant(disks, each):
    answer = disks.http.post("/api/bash/execute_bash_command", json={"command": "true"})

    assert (answer.status_code, answer.json()["code"]) == (409, "several_disks")


def test_a_runner_answers_nobody_without_a_ticket(disks, each):
    addresses = [process.environ()["OH_RUNNER_ADDRESS"] for process in disks.processes("run_conversations")]

    for address in addresses:
        for path in ("/api/bash/execute_bash_command", "/api/file/home", "/", "/api/conversations/search"):
            answer = httpx.post(
                address + path, json={"command": "true"}, headers={"X-Agentserver-Ticket": "1;2"}
            )
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")


def test_a_conversation_waits_for_its_disk_and_goes_on_there(disks, each, wait_until):
    (away, waiting), (_, other) = each
    (runner,) = [p for p in disks.processes("run_conversations") if p.cwd() == str(away)]
    runner.kill()
    psutil.wait_procs([runner], timeout=10)

    def download(conversation):
        asked = {"path": f"{WORKSPACE}/{conversation.note}"}
        return disks.http.get(f"{conversation.path}/file/download", params=asked)

    answer = download(waiting)
    assert (answer.status_code, answer.json()["code"]) == (503, "workspace_away")
    assert download(other).text == other.note

    waiting.tell(write(f"{WORKSPACE}/later", "later"), finish("went on"))
    waiting.wait_finished(timeout=STARTS + 60)
    assert (away / "workspace" / "later").read_text() == "later"
    wait_until(lambda: download(waiting).status_code == 200, 30, message="the place again")
