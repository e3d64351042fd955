"""Hand-over windows: whatever comes at whatever moment, nothing is stranded, doubled or swallowed."""

import json
import time
import uuid

import pytest

from tests.contract.conftest import user_message
from tests.contract.dialogue import (
    Dialogue,
    finish,
    message_texts,
    observation_text,
    observations,
    say,
    shell,
    think,
)


def test_of_fifty_runs_at_once_one_is_started(talk, at_once):
    conversation = talk(say("slow", delay=3), run=False)

    codes = at_once(*[lambda: conversation.post("run").status_code] * 50)

    assert sorted(codes) == [200] + [409] * 49
    conversation.wait_finished()
    assert len(conversation.llm_calls()) == 1


def test_of_thirty_creations_with_one_id_one_makes_it(http, agent_config, workspace, at_once):
    body = {
        "agent": agent_config,
        "workspace": {"working_dir": str(workspace)},
        "conversation_id": str(uuid.uuid4()),
        "autotitle": False,
    }

    codes = at_once(*[lambda: http.post("/api/conversations", json=body).status_code] * 30)

    assert sorted(codes) == [200] * 29 + [201]
    http.delete(f"/api/conversations/{body['conversation_id']}")


@pytest.mark.parametrize("moment", [0.0, 0.3, 0.6, 0.9, 1.0, 1.1, 1.3])
def test_a_message_at_any_moment_of_the_last_answer_is_answered(talk, wait_until, moment):
    conversation = talk(say("first", delay=1.0))
    conversation.wait_llm_call()
    deadline = time.monotonic() + moment
    wait_until(lambda: time.monotonic() >= deadline, interval=0.01, message="the moment")

    conversation.tell(*[finish("the second message")] * 2)

    wait_until(lambda: conversation.final_response == "the second message", message="answer")
    conversation.wait_finished()


@pytest.mark.parametrize("kind", ["pause", "interrupt"])
def test_a_message_right_after_a_stop_is_answered(talk, wait_until, at_peace, kind):
    conversation = talk(*[think(f"thought {n}", delay=0.2) for n in range(50)])
    conversation.wait_llm_call()

    conversation.ok(kind)
    conversation.tell(*[finish("after the stop")] * 3)

    wait_until(lambda: conversation.final_response == "after the stop", 30, message="answer")
    at_peace(conversation)


@pytest.mark.parametrize("kind", ["pause", "interrupt"])
def test_a_stop_with_nothing_to_stop_swallows_nothing(talk, wait_until, kind):
    conversation = talk(finish("over"))
    conversation.wait_finished()
    for turn in range(5):
        conversation.ok(kind)
        conversation.tell(finish(f"turn {turn}"))
        wait_until(lambda turn=turn: conversation.final_response == f"turn {turn}", message="answer")
        conversation.wait_finished()


def test_a_stop_wins_over_the_message_before_it(talk, wait_until, at_peace):
    conversation = talk(shell("sleep 3"))
    conversation.wait_for("ActionEvent")
    conversation.tell(*[say("must not be said")] * 3)

    conversation.ok("interrupt")

    at_peace(conversation)
    assert conversation.status == "paused"
    assert message_texts(conversation.events(), "agent") == []


def test_a_burst_of_stops_records_one(talk, at_once, at_peace):
    conversation = talk(say("never said", delay=30))
    conversation.wait_llm_call()

    codes = at_once(*[lambda: conversation.post("interrupt").status_code] * 20)

    assert codes == [200] * 20
    assert conversation.status == "paused"
    assert conversation.kinds().count("InterruptEvent") == 1
    at_peace(conversation)


def test_an_interrupt_while_the_agent_is_made_ready_is_recorded(talk, at_peace):
    conversation = talk(finish("never"))

    conversation.ok("interrupt")

    assert conversation.status in ("paused", "finished")
    if conversation.status == "paused":
        assert conversation.kinds().count("InterruptEvent") == 1
    at_peace(conversation)


def test_after_a_stop_is_shown_nothing_of_the_run_happens(talk, workspace, wait_until):
    log = workspace / "log"
    conversation = talk(shell(f"trap '' INT; for i in $(seq 600); do echo $i >> {log}; sleep 0.05; done"))
    wait_until(log.exists, message="start of the command")

    conversation.ok("interrupt")

    assert conversation.status == "paused"
    size = log.stat().st_size
    events = len(conversation.events())
    stop = time.monotonic() + 1.0
    wait_until(lambda: time.monotonic() > stop, message="a second of quiet")
    assert log.stat().st_size == size
    assert len(conversation.events()) == events


def test_a_line_does_not_go_on_after_a_command_that_ignores_ctrl_c(talk, workspace, wait_until):
    started, after = workspace / "started", workspace / "after"
    stubborn = f"sh -c \"trap '' INT; touch {started}; sleep 60\"; touch {after}"
    conversation = talk(shell("echo before"), shell(stubborn), shell("echo again"), finish())
    wait_until(started.exists, message="start of the command")

    conversation.ok("interrupt")

    assert conversation.status == "paused"
    conversation.ok("run")
    events = conversation.wait_finished(timeout=60)
    assert "again" in observation_text(observations(events)[-2])
    assert not after.exists()


def test_messages_from_many_clients_are_all_recorded_once(talk, at_once, wait_until):
    conversation = talk()
    texts = [f"message {n}" for n in range(20)]

    at_once(*[lambda text=text: conversation.send(text, run=False) for text in texts])

    assert sorted(message_texts(conversation.events(), "user")) == sorted(texts)


def test_no_capacity_is_said_before_anything_is_stored(
    own_server, llm_url, agent_config, workspace, wait_until
):
    http = own_server(OH_MAX_CONCURRENT_RUNS="1").wait_ready().http
    script = "PLAN " + json.dumps({"steps": [{"say": "slow", "delay": 20}]})
    body = {
        "agent": agent_config,
        "workspace": {"working_dir": str(workspace)},
        "autotitle": False,
        "initial_message": user_message(script),
    }
    first = http.post("/api/conversations", json=body).json()["id"]
    idle = http.post("/api/conversations", json={k: v for k, v in body.items() if k != "initial_message"})
    path = f"/api/conversations/{idle.json()['id']}"

    answers = [
        http.post("/api/conversations", json=body),
        http.post(f"{path}/run"),
        http.post(f"{path}/events", json=user_message(script, True)),
    ]

    assert [answer.status_code for answer in answers] == [429] * 3
    assert http.get("/api/conversations/count").json() == 2
    assert http.get(f"{path}/events/count", params={"source": "user"}).json() == 0
    assert http.post(f"/api/conversations/{first}/interrupt").status_code == 200
    assert http.post(f"{path}/events", json=user_message("PLAN {}", True)).status_code == 200


def test_a_run_that_follows_at_once_keeps_its_lane_and_its_stop(talk, wait_until, at_peace):
    """The end of one run and the beginning of the next, again and again: nothing of the old one is left."""
    conversation = talk()
    for turn in range(15):
        conversation.tell(say("never said", delay=30))
        conversation.wait_llm_call()
        conversation.ok("interrupt")
        assert conversation.status == "paused", turn
    conversation.tell(*[finish("the end")] * 2)
    wait_until(lambda: conversation.final_response == "the end", message="answer")
    at_peace(conversation)


def test_no_lane_is_lost(own_server, llm_url, agent_config, workspace):
    """One lane, many runs: each begins, so each before it gave the lane back."""
    server = own_server(OH_MAX_CONCURRENT_RUNS="1", OH_SECRET_KEY="tests-secret-key").wait_ready()
    conversation = Dialogue.open(server.http, llm_url, agent_config, workspace)
    for turn in range(10):
        conversation.tell(say("never said", delay=30))
        conversation.wait_llm_call()
        conversation.ok("interrupt")
        assert conversation.status == "paused", turn


def test_a_message_that_waited_for_a_command_comes_after_its_result(talk, workspace, wait_until, at_peace):
    """It is recorded when the interrupted command lets go: behind the call's result, never before it."""
    conversation = talk(shell(f"touch {workspace}/begun; sleep 60"))
    wait_until((workspace / "begun").exists, message="start of the command")
    conversation.tell(*[finish("told")] * 2)

    conversation.ok("interrupt")
    conversation.tell(*[finish("the end")] * 3)

    wait_until(lambda: conversation.final_response == "the end", 30, message="answer")
    at_peace(conversation)


def test_nothing_of_a_line_begins_after_its_interrupt(talk, workspace, wait_until):
    conversation = talk(shell(f"touch {workspace}/begun; sleep 60; touch {workspace}/late"))
    wait_until((workspace / "begun").exists, message="start of the command")

    conversation.ok("interrupt")

    assert conversation.status == "paused"
    conversation.tell(shell("echo alive"), finish("went on"))
    conversation.wait_finished()
    alive, _ = observations(conversation.events())[-2:]
    assert observation_text(alive).strip() == "alive"
    assert not (workspace / "late").exists()
