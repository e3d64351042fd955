"""A full disk: writes say so, reads go on, and when there is space again nothing acknowledged is missing."""

import contextlib
import os
import sqlite3
import subprocess
import uuid

import pytest

from tests.contract.dialogue import Dialogue, finish, message_texts, shell, thinking, unanswered
from tests.contract.kit import Bash
from tests.observability.conftest import Scrape
from tests.support.server import OwnServer, database_file
from tests.support.waiting import wait_until

SIZE = "64m"


class Disk:
    """A small file system of its own; ``fill`` leaves no byte, ``free`` gives it back.

    SQLite goes on for a while in the space of its log that it has used before: ``fill`` shortens it.
    """

    def __init__(self, path):
        self.path, self.filler = path, path / "filler"

    def fill(self):
        """Take what is left, also what was given back since."""
        database = database_file(self.path / "server")
        with contextlib.closing(sqlite3.connect(database, timeout=30)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        with contextlib.suppress(OSError), self.filler.open("ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def free(self):
        self.filler.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    path = tmp_path_factory.mktemp("small-disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(path)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    yield Disk(path)
    subprocess.run(["umount", "--lazy", str(path)], check=True)


@pytest.fixture(scope="module")
def server(disk):
    """Everything that the server writes, its log as well, is on the small disk."""
    (disk.path / "tmp").mkdir()
    made = OwnServer(
        disk.path / "server", OH_SECRET_KEY="full", OH_ACCESS_LOG="true", TMPDIR=str(disk.path / "tmp")
    )
    yield made.start().wait_ready()
    disk.free()
    made.stop()


@pytest.fixture(autouse=True)
def space_again(disk):
    yield
    disk.free()


@pytest.fixture
def until_a_write_fails(server):
    """Callable: wait until the server's writer has met the full disk once more."""

    def failures():
        return Scrape(server.http.get("/metrics").text)("writer_failures_total")

    before = failures()
    return lambda: wait_until(lambda: failures() > before, 30, message="a write that fails")


@pytest.fixture
def talk(server, llm_url, agent, tmp_path):
    def _talk(*steps, **overrides):
        return Dialogue.open(server.http, llm_url, agent, tmp_path, *steps, **overrides)

    return _talk


def message(text):
    return {"role": "user", "content": [{"type": "text", "text": text}], "run": False}


def send_until_refused(conversation):
    """Messages that were acknowledged, and the answer that refused the first other."""
    acknowledged = []
    for number in range(5000):
        text = f"message {number} " + "x" * 2000
        answer = conversation.http.post(f"{conversation.path}/events", json=message(text))
        if answer.status_code != 200:
            return acknowledged, answer
        acknowledged.append(text)
    raise AssertionError("the disk did not become full")


def test_writes_are_refused_reads_go_on_and_what_was_acknowledged_is_there(server, disk, talk, tmp_path):
    conversation = talk(finish("before"))
    before = len(conversation.wait_finished())
    bash = server.http.post("/api/bash/execute_bash_command", json={"command": "echo before"}).json()

    disk.fill()
    acknowledged, refusal = send_until_refused(conversation)
    disk.fill()
    upload = server.http.post(
        "/api/file/upload",
        params={"path": str(disk.path / "uploaded")},
        files={"file": ("name", os.urandom(1 << 20))},
    )
    started = server.http.post(
        "/api/conversations",
        json={"agent": conversation.info["agent"], "workspace": {"working_dir": str(tmp_path)}},
    )
    commanded = server.http.post("/api/bash/execute_bash_command", json={"command": "echo " + "x" * 50_000})

    for answer in (refusal, upload, started, commanded):
        assert (answer.status_code, answer.json()["code"]) == (507, "no_space")
    assert "space" in refusal.json()["detail"]
    assert not (disk.path / "uploaded").exists()
    assert len(conversation.events()) >= before
    assert conversation.status == "finished"
    assert server.http.get(f"/api/bash/bash_events/{bash['id']}").status_code == 200
    assert server.http.get("/health").status_code == 200

    disk.free()
    wait_until(
        lambda: set(acknowledged) <= set(message_texts(conversation.events(), "user")),
        30,
        message="the acknowledged messages",
    )
    conversation.tell(finish("after"))
    conversation.wait_finished()
    assert conversation.final_response == "after"
    texts = message_texts(conversation.events(), "user")
    assert len(texts) == len(set(texts))
    server.http.get("/alive", headers={"X-Request-Id": "space-again"})
    wait_until(lambda: "space-again" in server.log.read_text(), message="the log")


def test_a_run_ends_in_error_and_can_go_on(server, disk, talk):
    conversation = talk(*thinking(300, delay=0.1))
    conversation.wait_for("ObservationEvent", 3)

    disk.fill()

    conversation.wait_status("error", timeout=60)
    assert conversation.http.get("/ready", params={"verbose": "true"}).status_code == 503
    disk.free()
    wait_until(lambda: conversation.http.get("/ready").status_code == 200, message="/ready")
    told = wait_until(lambda: conversation.of_kind("ConversationErrorEvent"))
    assert told[-1]["code"] == "StorageError"
    assert "disk is full" in told[-1]["detail"]
    assert unanswered(conversation.events()) == []
    conversation.tell(finish("went on"))
    assert unanswered(conversation.wait_finished()) == []


def test_a_message_stored_before_the_disk_was_full_gets_its_run(disk, talk, until_a_write_fails):
    conversation = talk(shell("sleep 3"), finish("first"))
    conversation.wait_for("ActionEvent")
    text = conversation.script(finish("second"))
    assert conversation.send(text, run=True).status_code == 200

    disk.fill()
    until_a_write_fails()
    disk.free()

    wait_until(lambda: text in message_texts(conversation.events(), "user"), 30, message="the message")
    wait_until(lambda: conversation.final_response == "second", 30, message="its run")


def test_output_of_a_command_waits_for_space(server, disk, until_a_write_fails):
    bash = Bash(server.http)
    begun = disk.path / f"begun-{uuid.uuid4().hex}"
    wait = f"touch {begun}; while [ -e {begun} ]; do sleep 0.1; done"
    command = bash.start(f"echo first; {wait}; seq 100000 | sed s/^/{'x' * 50}/")
    wait_until(begun.exists, message="the command")

    disk.fill()
    begun.unlink()
    until_a_write_fails()
    disk.free()

    outputs = wait_until(
        lambda: (found := bash.outputs(command["id"])) and found[-1]["exit_code"] is not None and found, 30
    )
    text = "".join(output["stdout"] or "" for output in outputs)
    assert text.splitlines() == ["first", *(f"{'x' * 50}{n}" for n in range(1, 100_001))]


def test_a_server_that_was_killed_when_the_disk_was_full_comes_back(server, disk, talk):
    conversation = talk(finish("kept"))
    before = conversation.wait_finished()
    disk.fill()
    send_until_refused(conversation)

    server.restart("KILL")
    conversation.http = server.http

    assert len(conversation.events()) >= len(before)
    disk.free()
    server.wait_ready()
    conversation.tell(finish("after"))
    conversation.wait_finished()
