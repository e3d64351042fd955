"""SIGKILL at any moment: what was acknowledged is there, nothing is executed twice, everything goes on.

``KILL_TRIALS`` (default 3) is how often the server is killed; each time six conversations are at
work. The full figure of a release is 200 conversations: ``KILL_TRIALS=34``.
"""

import os
import random
import time

import psutil
import pytest

from tests.contract.dialogue import Dialogue, finish, message_texts, shell, think, unanswered

TRIALS = int(os.environ.get("KILL_TRIALS", "3"))
AT_WORK = 6
USABLE_SECONDS = 5
FROZEN_SECONDS = 35  # a run may take 30 to wrap up, a runner of a cluster 6 to show life
AT_REST = {"error", "finished"}


@pytest.fixture(scope="module")
def doomed(tmp_path_factory):
    """A server of this module's own, to be killed."""
    from tests.support.server import OwnServer

    server = OwnServer(tmp_path_factory.mktemp("doomed"), OH_SECRET_KEY="tests-secret-key")
    yield server.start().wait_ready()
    server.stop()


def steps(log):
    """Steps that each leave one line; a line twice would be a tool call executed twice."""
    return [
        step
        for n in range(12)
        for step in (shell(f"echo {n} >> {log}; sleep 0.1"), think(f"thought {n}", delay=0.05))
    ]


@pytest.mark.slow
@pytest.mark.timeout(60 + 60 * TRIALS)
@pytest.mark.parametrize("trial", range(TRIALS))
def test_a_kill_loses_nothing_and_repeats_nothing(doomed, llm_url, agent_config, tmp_path, wait_until, trial):
    chance = random.Random(trial)
    opened = []
    for number in range(AT_WORK):
        folder = tmp_path / f"w{number}"
        folder.mkdir()
        opened.append(Dialogue.open(doomed.http, llm_url, agent_config, folder, *steps(folder / "log")))
    moment = time.monotonic() + chance.uniform(0.0, 6.0)
    wait_until(lambda: time.monotonic() > moment, 20, 0.005, "the moment")
    before = [conversation.events() for conversation in opened]
    opened[0].send("accepted before the crash", run=True)

    doomed.restart("KILL").wait_ready()

    ready = time.monotonic()
    for conversation in opened:
        conversation.http = doomed.http
    for conversation, known in zip(opened, before, strict=True):
        left = USABLE_SECONDS - (time.monotonic() - ready)
        began = any(event["kind"] == "ActionEvent" for event in known)
        if began and conversation is not opened[0]:  # others run again by themselves: nobody has answered
            wait_until(lambda c=conversation: c.status in AT_REST, max(left, 0.1), message="rest")
        assert [e["id"] for e in conversation.events()][: len(known)] == [e["id"] for e in known]
    for conversation in opened:
        conversation.tell(*[finish("recovered")] * 3)
        wait_until(lambda c=conversation: c.final_response == "recovered", 60, message="answer")
        conversation.wait_finished()
        assert unanswered(conversation.events()) == []
        lines = (conversation_log(conversation)).split()
        assert len(lines) == len(set(lines)), "a tool call was executed twice"
    assert "accepted before the crash" in message_texts(opened[0].events(), "user")
    for conversation in opened:
        conversation.delete()


def conversation_log(conversation):
    from pathlib import Path

    log = Path(conversation.working_dir) / "log"
    return log.read_text() if log.exists() else ""


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_with_resume_a_run_that_a_crash_cut_off_goes_on_by_itself(
    own_server, llm_url, agent_config, tmp_path
):
    server = own_server(OH_CRASH_RECOVERY="resume", OH_SECRET_KEY="tests-secret-key").wait_ready()
    conversation = Dialogue.open(
        server.http, llm_url, agent_config, tmp_path, shell("sleep 30"), finish("went on")
    )
    conversation.wait_for("ActionEvent")

    conversation.http = server.restart("KILL").wait_ready().http

    events = conversation.wait_finished(timeout=30)
    assert conversation.final_response == "went on"
    assert unanswered(events) == []


@pytest.mark.slow
def test_a_term_ends_within_its_time_and_leaves_a_paused_conversation(
    own_server, llm_url, agent_config, tmp_path, wait_until
):
    server = own_server(OH_SECRET_KEY="tests-secret-key").wait_ready()
    conversation = Dialogue.open(server.http, llm_url, agent_config, tmp_path, shell("touch begun; sleep 60"))
    wait_until(
        (tmp_path / "begun").exists, message="the command"
    )  # a terminal that is cut off at its start fails
    process = server.process

    server._signal(15)

    wait_until(lambda: process.poll() is not None, 15, message="exit")
    assert process.returncode == 0
    conversation.http = server.restart("KILL").wait_ready().http
    assert conversation.status == "paused"
    assert unanswered(conversation.events()) == []


@pytest.mark.slow
def test_a_server_that_was_frozen_for_longer_than_any_wait_goes_on(
    doomed, llm_url, agent_config, tmp_path, wait_until
):
    conversation = Dialogue.open(
        doomed.http, llm_url, agent_config, tmp_path, think("thought", delay=1), finish("went on")
    )
    conversation.wait_llm_call()
    frozen = psutil.Process(doomed.process.pid)

    frozen.suspend()
    wake = time.monotonic() + FROZEN_SECONDS
    wait_until(lambda: time.monotonic() > wake, FROZEN_SECONDS + 5, message="the time to pass")
    frozen.resume()

    events = conversation.wait_finished(timeout=30)
    assert conversation.final_response == "went on"
    assert unanswered(events) == []
    conversation.delete()
