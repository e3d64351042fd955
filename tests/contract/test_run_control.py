"""Starting, pausing, interrupting and steering runs of a conversation over REST."""

# ruff: noqa: F811  (fixtures are imported by name)

import time

import pytest

from tests.contract.conftest import wait_until
from tests.contract.dialogue import (  # noqa: F401  (talk is a fixture)
    finish,
    message_texts,
    observation_text,
    observations,
    say,
    shell,
    talk,
    think,
    thinking,
    unanswered,
    write,
)
from tests.contract.kit import has_detail, read_pids, wait_gone

PROMPT = 5.0
"""Seconds within which a request must be answered, whatever the agent is doing."""


def timed(call):
    """The result of ``call()`` and how many seconds it took."""
    begin = time.monotonic()
    result = call()
    return result, time.monotonic() - begin


def sleeper(workspace, seconds=60):
    """A step that runs a long command, and the file the command writes its pid to."""
    pid_file = workspace / "sleeper.pid"
    return shell(f"sh -c 'echo $$ > {pid_file}; exec sleep {seconds}'"), pid_file


def error_events(conversation):
    return conversation.wait_for("ConversationErrorEvent")


# Run


def test_run_starts_a_conversation_that_has_a_message_waiting(talk):
    conversation = talk(say("hello"), run=False)
    assert conversation.status == "idle"
    conversation.ok("run")
    assert message_texts(conversation.wait_finished(), "agent") == ["hello"]


def test_run_is_refused_with_409_while_the_conversation_is_running(talk):
    conversation = talk(say("slow", delay=20))
    conversation.wait_llm_call()
    response, seconds = timed(lambda: conversation.post("run"))
    has_detail(response, 409)
    assert seconds < PROMPT
    assert len(conversation.llm_calls()) == 1


def test_run_is_refused_with_409_while_a_command_is_running(talk, workspace):
    step, pid_file = sleeper(workspace)
    conversation = talk(step)
    read_pids(pid_file)
    response, seconds = timed(lambda: conversation.post("run"))
    has_detail(response, 409)
    assert seconds < PROMPT
    conversation.ok("interrupt")


def test_run_of_a_finished_conversation_does_not_call_the_llm_again(talk):
    conversation = talk(finish())
    conversation.wait_finished()
    before = conversation.events()
    assert conversation.post("run").status_code == 200
    time.sleep(0.5)
    assert conversation.status == "finished"
    assert len(conversation.llm_calls()) == 1
    assert [e for e in conversation.events() if e["kind"] == "ActionEvent"] == [
        e for e in before if e["kind"] == "ActionEvent"
    ]


def test_the_status_goes_from_idle_over_running_to_finished(talk):
    conversation = talk(say("hello", delay=0.5), run=False)
    assert conversation.status == "idle"
    conversation.ok("run")
    conversation.wait_status("running")
    conversation.wait_finished()
    recorded = [
        event["value"]
        for event in conversation.of_kind("ConversationStateUpdateEvent")
        if event["key"] == "execution_status"
    ]
    assert recorded == ["running", "finished"]


def test_a_conversation_goes_on_after_it_has_finished(talk):
    conversation = talk(say("one"))
    conversation.wait_finished()
    for text in ("two", "three"):
        conversation.tell(finish(text))
        wait_until(lambda: conversation.final_response == text, message=f"answer {text}")
        conversation.wait_finished()
    assert unanswered(conversation.events()) == []


# Pause


def test_pause_lets_the_llm_call_in_flight_end_and_then_stops(talk):
    """Pause is the gentle stop: nothing is cancelled, the answer is used, then no more calls."""
    conversation = talk(*thinking(1, delay=1.0), finish("resumed"))
    conversation.wait_llm_call()
    conversation.ok("pause")
    conversation.wait_for("ObservationEvent")
    conversation.wait_status("paused")
    time.sleep(0.3)
    assert [call["outcome"] for call in conversation.llm_calls()] == ["finished"]
    assert conversation.kinds().count("PauseEvent") == 1
    assert "InterruptEvent" not in conversation.kinds()
    assert conversation.status == "paused"


def test_a_paused_conversation_goes_on_where_it_was_with_run(talk):
    conversation = talk(*thinking(1, delay=0.7), finish("resumed"))
    conversation.wait_llm_call()
    conversation.ok("pause")
    conversation.wait_for("ObservationEvent")
    conversation.wait_status("paused")
    wait_until(lambda: conversation.post("run").status_code == 200, message="run accepted")
    events = conversation.wait_finished()
    assert conversation.final_response == "resumed"
    assert len(observations(events)) == 2 and unanswered(events) == []
    assert len(conversation.llm_calls()) == 2


@pytest.mark.parametrize("action", ["pause", "interrupt"])
def test_pause_and_interrupt_of_an_idle_conversation_leave_it_paused(talk, action):
    conversation = talk(finish("later"), run=False)
    conversation.ok(action)
    assert conversation.status == "paused"
    assert conversation.kinds().count("PauseEvent") == 1
    conversation.ok("run")
    conversation.wait_finished()
    assert conversation.final_response == "later"


@pytest.mark.parametrize("action", ["pause", "interrupt"])
def test_pause_and_interrupt_of_a_finished_conversation_change_nothing(talk, action):
    conversation = talk(finish())
    conversation.wait_finished()
    kinds = conversation.kinds()
    conversation.ok(action)
    assert conversation.status == "finished"
    assert not {"PauseEvent", "InterruptEvent"} & set(conversation.kinds())
    assert len(conversation.kinds()) - len(kinds) <= 1  # at most a state update


@pytest.mark.parametrize("action", ["pause", "interrupt"])
def test_pausing_a_paused_conversation_is_accepted_and_records_nothing(talk, action):
    conversation = talk(finish(), run=False)
    conversation.ok("pause")
    conversation.ok(action)
    assert conversation.status == "paused"
    assert conversation.kinds().count("PauseEvent") == 1
    assert "InterruptEvent" not in conversation.kinds()


def test_a_message_with_run_resumes_a_paused_conversation(talk):
    conversation = talk()
    conversation.ok("pause")
    conversation.tell(finish("awake"))
    conversation.wait_finished()
    assert conversation.final_response == "awake"


def test_a_message_without_run_leaves_a_paused_conversation_paused(talk):
    conversation = talk()
    conversation.ok("pause")
    conversation.tell(finish(), run=False)
    time.sleep(0.5)
    assert conversation.status == "paused"
    assert conversation.llm_calls() == []


@pytest.mark.beyond  # the reference holds the answer back until the command has ended
def test_pause_is_answered_at_once_while_a_command_is_running(talk, workspace):
    conversation = talk(shell(f"touch {workspace}/begun; sleep 4"), finish())
    wait_until((workspace / "begun").exists, message="start of the command")
    response, seconds = timed(lambda: conversation.post("pause"))
    assert response.status_code == 200 and seconds < 2
    conversation.wait_for("ObservationEvent")
    conversation.wait_status("paused")
    assert len(conversation.llm_calls()) == 1


# Interrupt


def test_interrupt_cancels_the_llm_call_and_pauses_at_once(talk):
    conversation = talk(say("never said", delay=30))
    conversation.wait_llm_call()
    response, seconds = timed(lambda: conversation.post("interrupt"))
    assert response.status_code == 200 and response.json() == {"success": True}
    assert seconds < PROMPT
    assert conversation.status == "paused"
    wait_until(lambda: conversation.llm_calls("cancelled"), PROMPT, message="cancelled LLM call")
    kinds = conversation.kinds()
    assert kinds.count("InterruptEvent") == 1 and "PauseEvent" not in kinds
    assert message_texts(conversation.events(), "agent") == []


def test_an_interrupt_is_recorded_as_the_act_of_the_user(talk):
    conversation = talk(say("never said", delay=30))
    conversation.wait_llm_call()
    conversation.ok("interrupt")
    assert conversation.wait_for("InterruptEvent")[0]["source"] == "user"


def test_an_interrupted_conversation_repeats_the_lost_llm_call_with_run(talk):
    conversation = talk(*thinking(1), say("second", delay=2))
    conversation.wait_for("ObservationEvent")
    conversation.wait_llm_call()
    conversation.ok("interrupt")
    assert conversation.status == "paused"
    conversation.ok("run")
    events = conversation.wait_finished()
    assert message_texts(events, "agent") == ["second"]
    assert [call["outcome"] for call in conversation.llm_calls()] == ["finished", "cancelled", "finished"]


def test_a_new_message_redirects_an_interrupted_conversation(talk):
    conversation = talk(say("never said", delay=30))
    conversation.wait_llm_call()
    conversation.ok("interrupt")
    conversation.tell(finish("redirected"))
    conversation.wait_finished()
    assert conversation.final_response == "redirected"


def test_a_second_interrupt_changes_nothing(talk):
    conversation = talk(say("never said", delay=30))
    conversation.wait_llm_call()
    conversation.ok("interrupt")
    kinds = conversation.kinds()
    conversation.ok("interrupt")
    assert conversation.status == "paused"
    assert conversation.kinds().count("InterruptEvent") == 1
    assert len(conversation.kinds()) - len(kinds) <= 1


def test_interrupt_stops_a_running_command_at_once(talk, workspace):
    """The open tool call is answered by an error: LLMs refuse a history without the answer."""
    step, pid_file = sleeper(workspace)
    conversation = talk(step, say("never reached"))
    pid = read_pids(pid_file)[0]
    response, seconds = timed(lambda: conversation.post("interrupt"))
    assert response.status_code == 200 and seconds < PROMPT
    assert conversation.status == "paused"
    wait_gone(pid)
    events = conversation.events()
    (action,) = [event for event in events if event["kind"] == "ActionEvent"]
    (error,) = [event for event in events if event["kind"] == "AgentErrorEvent"]
    assert error["tool_call_id"] == action["tool_call_id"]
    assert error["tool_name"] == "terminal" and error["error"]
    assert conversation.kinds().count("InterruptEvent") == 1 and unanswered(events) == []


def test_the_agent_and_its_terminal_go_on_after_an_interrupted_command(talk, workspace):
    step, pid_file = sleeper(workspace)
    conversation = talk(step, shell("echo alive"), say("back again"))
    read_pids(pid_file)
    conversation.ok("interrupt")
    conversation.ok("run")
    events = conversation.wait_finished(timeout=40)
    (observation,) = observations(events)
    assert observation_text(observation).strip() == "alive"
    assert message_texts(events, "agent") == ["back again"] and unanswered(events) == []


# A message while a run is going

ANSWERED_TWICE = [finish("the second message")] * 2
"""The same answer whether or not the LLM's first answer lands between the two messages."""


@pytest.mark.parametrize(
    "last", [say("first", delay=1.0), finish("first", delay=1.0)], ids=["text", "finish"]
)
def test_a_message_sent_with_run_during_the_last_llm_call_is_answered(talk, last):
    conversation = talk(last)
    conversation.wait_llm_call()
    conversation.tell(*ANSWERED_TWICE)
    wait_until(
        lambda: conversation.final_response == "the second message", message="answer to the second message"
    )
    events = conversation.wait_finished()
    assert len(message_texts(events, "user")) == 2
    assert unanswered(events) == []


def test_a_message_sent_while_a_command_runs_is_answered(talk, workspace):
    conversation = talk(shell(f"touch {workspace}/begun; sleep 1.5"), finish("first"))
    wait_until((workspace / "begun").exists, message="start of the command")
    conversation.tell(*[finish("the second message")] * 3)
    wait_until(
        lambda: conversation.final_response == "the second message",
        30,
        message="answer to the second message",
    )
    assert unanswered(conversation.wait_finished()) == []


@pytest.mark.beyond  # the reference holds every writing request back until the command has ended
@pytest.mark.parametrize(
    "name, body",
    [
        ("message", None),
        ("secrets", {"secrets": {"NAME": "value"}}),
        ("confirmation_policy", {"policy": {"kind": "NeverConfirm"}}),
        ("security_analyzer", {"security_analyzer": None}),
        ("fork", {}),
    ],
)
def test_writing_requests_are_answered_at_once_while_a_command_is_running(talk, workspace, name, body):
    conversation = talk(shell(f"touch {workspace}/begun; sleep 5"), finish())
    wait_until((workspace / "begun").exists, message="start of the command")
    response, seconds = timed(
        lambda: conversation.tell(finish(), run=False) if name == "message" else conversation.post(name, body)
    )
    assert response.status_code in (200, 201) and seconds < 2


def test_reading_requests_are_answered_at_once_while_a_command_is_running(talk, workspace, http):
    step, pid_file = sleeper(workspace)
    conversation = talk(step)
    read_pids(pid_file)
    for path in (
        conversation.path,
        f"{conversation.path}/events/search",
        f"{conversation.path}/events/count",
        f"{conversation.path}/agent_final_response",
        "/api/conversations/search",
        "/api/conversations/count?status=running",
    ):
        response, seconds = timed(lambda: http.get(path))
        assert response.status_code == 200 and seconds < PROMPT, path
    assert conversation.status == "running"
    conversation.ok("interrupt")


def test_a_message_without_run_does_not_start_a_run(talk):
    conversation = talk(finish("first"))
    conversation.wait_finished()
    conversation.tell(finish("second"), run=False)
    time.sleep(0.7)
    assert conversation.status == "idle"
    assert len(conversation.llm_calls()) == 1
    conversation.ok("run")
    conversation.wait_finished()
    assert conversation.final_response == "second"


# Confirmation

ALWAYS = {"confirmation_policy": {"kind": "AlwaysConfirm"}}


def test_always_confirm_stops_before_the_action_is_executed(talk, workspace):
    conversation = talk(write(workspace / "executed"), finish(), **ALWAYS)
    conversation.wait_status("waiting_for_confirmation")
    assert conversation.kinds().count("ActionEvent") == 1
    assert observations(conversation.events()) == []
    assert not (workspace / "executed").exists()


def test_an_accepted_action_is_executed_and_the_run_goes_on(talk, workspace):
    conversation = talk(write(workspace / "executed"), say("over"), **ALWAYS)
    conversation.wait_status("waiting_for_confirmation")
    conversation.ok("events/respond_to_confirmation", {"accept": True})
    wait_until(lambda: conversation.status == "finished", message="end of the run")
    events = conversation.wait_finished()
    assert (workspace / "executed").exists()
    assert message_texts(events, "agent") == ["over"] and unanswered(events) == []


def test_thinking_and_finishing_need_no_confirmation(talk):
    conversation = talk(think("hm"), finish(), **ALWAYS)
    conversation.wait_finished()


def test_every_action_waits_for_its_own_confirmation(talk, workspace):
    conversation = talk(write(workspace / "one"), write(workspace / "two"), say("over"), **ALWAYS)
    for count, name in enumerate(("one", "two"), 1):
        conversation.wait_for("ActionEvent", count)
        conversation.wait_status("waiting_for_confirmation")
        assert not (workspace / name).exists()
        conversation.ok("events/respond_to_confirmation", {"accept": True})
        conversation.wait_for("ObservationEvent", count)
        assert (workspace / name).exists()
    conversation.wait_finished()


def test_run_accepts_the_waiting_action(talk, workspace):
    conversation = talk(write(workspace / "executed"), say("over"), **ALWAYS)
    conversation.wait_status("waiting_for_confirmation")
    conversation.ok("run")
    wait_until(lambda: conversation.status == "finished", message="end of the run")
    assert (workspace / "executed").exists()


def test_a_rejected_action_is_not_executed_and_the_reason_is_recorded(talk, workspace):
    conversation = talk(write(workspace / "executed"), say("understood"), **ALWAYS)
    conversation.wait_status("waiting_for_confirmation")
    conversation.ok("events/respond_to_confirmation", {"accept": False, "reason": "too risky"})
    assert conversation.status == "idle"
    events = conversation.events()
    (action,) = [event for event in events if event["kind"] == "ActionEvent"]
    (rejection,) = [event for event in events if event["kind"] == "UserRejectObservation"]
    assert rejection["action_id"] == action["id"]
    assert rejection["tool_call_id"] == action["tool_call_id"]
    assert rejection["rejection_reason"] == "too risky"
    assert not (workspace / "executed").exists() and unanswered(events) == []


def test_the_llm_learns_of_a_rejection_in_the_next_run(talk, workspace):
    conversation = talk(write(workspace / "executed"), say("understood"), **ALWAYS)
    conversation.wait_status("waiting_for_confirmation")
    conversation.ok("events/respond_to_confirmation", {"accept": False, "reason": "too risky"})
    conversation.ok("run")
    events = conversation.wait_finished()
    assert message_texts(events, "agent") == ["understood"]
    results = [m for m in conversation.llm_calls()[-1]["messages"] if m["role"] == "tool"]
    assert "too risky" in str(results)
    assert not (workspace / "executed").exists()


@pytest.mark.beyond  # the reference takes the message for a yes and executes the action
def test_a_new_message_does_not_confirm_the_waiting_action(talk, workspace):
    conversation = talk(write(workspace / "executed"), **ALWAYS)
    conversation.wait_status("waiting_for_confirmation")
    conversation.tell(*[say("something else instead")] * 2)
    conversation.wait_for("MessageEvent", 3)
    events = conversation.wait_finished()
    assert "something else instead" in message_texts(events, "agent")
    assert not (workspace / "executed").exists() and unanswered(events) == []


@pytest.mark.parametrize("accept", [True, False])
def test_a_response_without_a_waiting_action_changes_nothing(talk, accept):
    conversation = talk(finish())
    conversation.wait_finished()
    conversation.ok("events/respond_to_confirmation", {"accept": accept})
    time.sleep(0.3)
    assert conversation.status == "finished"
    assert len(conversation.llm_calls()) == 1
    assert "UserRejectObservation" not in conversation.kinds()


@pytest.mark.parametrize("body", [{}, {"accept": "maybe"}, {"accept": None}, ["accept"]])
def test_a_malformed_response_is_refused_and_the_action_keeps_waiting(talk, workspace, body):
    conversation = talk(write(workspace / "executed"), **ALWAYS)
    conversation.wait_status("waiting_for_confirmation")
    has_detail(conversation.post("events/respond_to_confirmation", body), 422)
    assert conversation.status == "waiting_for_confirmation"


@pytest.mark.parametrize("action", ["pause", "interrupt"])
def test_a_waiting_action_is_still_waiting_after_pause_and_interrupt(talk, workspace, action):
    conversation = talk(write(workspace / "executed"), say("over"), **ALWAYS)
    conversation.wait_status("waiting_for_confirmation")
    conversation.ok(action)
    assert conversation.status == "waiting_for_confirmation"
    assert not (workspace / "executed").exists()
    conversation.ok("events/respond_to_confirmation", {"accept": True})
    wait_until(lambda: conversation.status == "finished", message="end of the run")
    assert (workspace / "executed").exists()


def test_the_policy_can_be_changed_between_runs(talk, workspace):
    conversation = talk()
    assert conversation.get()["confirmation_policy"]["kind"] == "NeverConfirm"
    conversation.ok("confirmation_policy", {"policy": {"kind": "AlwaysConfirm"}})
    assert conversation.get()["confirmation_policy"]["kind"] == "AlwaysConfirm"
    conversation.tell(write(workspace / "executed"), say("over"))
    conversation.wait_status("waiting_for_confirmation")
    conversation.ok("confirmation_policy", {"policy": {"kind": "NeverConfirm"}})
    conversation.ok("events/respond_to_confirmation", {"accept": True})
    wait_until(lambda: conversation.status == "finished", message="end of the run")


@pytest.mark.parametrize(
    "name, body",
    [
        ("confirmation_policy", {}),
        ("confirmation_policy", {"policy": {"kind": "NoSuchPolicy"}}),
        ("confirmation_policy", {"policy": None}),
        ("security_analyzer", {}),
        ("security_analyzer", {"security_analyzer": {"kind": "NoSuchAnalyzer"}}),
    ],
)
def test_an_unknown_policy_or_analyzer_is_refused(talk, name, body):
    conversation = talk()
    has_detail(conversation.post(name, body), 422)
    info = conversation.get()
    assert info["confirmation_policy"]["kind"] == "NeverConfirm"
    assert info["security_analyzer"] is None


def test_the_security_analyzer_can_be_set_and_removed(talk):
    conversation = talk()
    conversation.ok("security_analyzer", {"security_analyzer": {"kind": "LLMSecurityAnalyzer"}})
    assert conversation.get()["security_analyzer"]["kind"] == "LLMSecurityAnalyzer"
    conversation.ok("security_analyzer", {"security_analyzer": None})
    assert conversation.get()["security_analyzer"] is None


def test_confirm_risky_lets_low_risk_pass_and_stops_at_high_risk(talk, workspace):
    low, high = write(workspace / "harmless"), write(workspace / "harmful")
    low["args"]["security_risk"], high["args"]["security_risk"] = "LOW", "HIGH"
    conversation = talk(
        low,
        high,
        say("over"),
        security_analyzer={"kind": "LLMSecurityAnalyzer"},
        confirmation_policy={"kind": "ConfirmRisky", "threshold": "HIGH"},
    )
    conversation.wait_status("waiting_for_confirmation")
    assert [event["security_risk"] for event in conversation.of_kind("ActionEvent")] == ["LOW", "HIGH"]
    assert (workspace / "harmless").exists() and not (workspace / "harmful").exists()


# Runs that end badly


def test_a_run_that_reaches_max_iterations_ends_in_error(talk):
    conversation = talk(*thinking(6), max_iterations=3)
    assert conversation.wait_status("error", "finished") == "error"
    assert error_events(conversation)[-1]["code"] == "MaxIterationsReached"
    assert conversation.kinds().count("ActionEvent") == 3
    assert len(conversation.llm_calls()) == 3


def test_max_iterations_counts_anew_in_every_run(talk):
    conversation = talk(*thinking(4), finish("arrived"), max_iterations=3)
    assert conversation.wait_status("error", "finished") == "error"
    error_events(conversation)
    wait_until(lambda: conversation.post("run").status_code == 200, message="run accepted")
    conversation.wait_status("finished")
    assert conversation.final_response == "arrived"


def test_a_run_that_finishes_in_its_last_iteration_is_finished(talk):
    conversation = talk(*thinking(2), finish(), max_iterations=3)
    conversation.wait_finished()
    assert "ConversationErrorEvent" not in conversation.kinds()


def test_an_agent_that_repeats_itself_is_stuck(talk):
    conversation = talk(*[think("the same")] * 9)
    assert conversation.wait_status("stuck", "finished", "error", timeout=40) == "stuck"
    assert conversation.kinds().count("ActionEvent") < 9
    assert unanswered(conversation.events()) == []


def test_a_message_frees_a_stuck_conversation(talk):
    conversation = talk(*[think("the same")] * 9)
    assert conversation.wait_status("stuck", "finished", "error", timeout=40) == "stuck"
    conversation.tell(finish("free"))
    conversation.wait_status("finished")
    assert conversation.final_response == "free"


def test_stuck_detection_can_be_switched_off(talk):
    conversation = talk(*[think("the same")] * 6, finish("patient"), stuck_detection=False)
    assert conversation.get()["stuck_detection"] is False
    conversation.wait_finished(timeout=40)
    assert conversation.final_response == "patient"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
def test_a_failing_llm_ends_the_run_in_error_and_a_message_goes_on(talk, status):
    conversation = talk({"status": status})
    assert conversation.wait_status("error", "finished", "stuck") == "error"
    (error,) = error_events(conversation)
    assert error["code"] and error["detail"]
    assert error["source"] == "environment"
    conversation.tell(say("recovered"))
    wait_until(lambda: conversation.status == "finished", message="end of the second run")
    assert message_texts(conversation.events(), "agent") == ["recovered"]


def test_an_unreachable_llm_ends_the_run_in_error(talk, agent_config):
    nowhere = agent_config | {"llm": agent_config["llm"] | {"base_url": "http://127.0.0.1:9/v1"}}
    conversation = talk(say("unheard"), agent=nowhere)
    assert conversation.wait_status("error", "finished") == "error"
    error_events(conversation)
    assert agent_config["llm"]["api_key"] not in str(conversation.events())


def test_a_refused_key_is_reported_as_an_authentication_error(talk):
    conversation = talk({"status": 401})
    conversation.wait_status("error")
    assert error_events(conversation)[0]["code"].endswith("AuthenticationError")


def test_run_retries_after_an_llm_failure(talk):
    conversation = talk(*thinking(1), {"status": 500})
    conversation.wait_status("error")
    error_events(conversation)
    conversation.tell(say("second try"), run=False)
    assert conversation.status == "error"
    wait_until(lambda: conversation.post("run").status_code == 200, message="run accepted")
    conversation.wait_status("finished")
    assert message_texts(conversation.events(), "agent") == ["second try"]


# What the agent gets wrong is not the end of the run


@pytest.mark.parametrize(
    "step",
    [
        {"tool": "no_such_tool", "args": {}},
        {"tool": "terminal", "args": {"cmd": "ls"}},
        {"tool": "terminal", "args": {}},
    ],
    ids=["unknown tool", "unknown argument", "missing argument"],
)
def test_a_bad_tool_call_is_answered_by_an_error_and_the_run_goes_on(talk, step):
    conversation = talk(step, say("corrected"))
    events = conversation.wait_finished()
    (error,) = [event for event in events if event["kind"] == "AgentErrorEvent"]
    assert error["tool_name"] == step["tool"] and error["error"]
    assert message_texts(events, "agent") == ["corrected"] and unanswered(events) == []


def test_several_tool_calls_of_one_llm_answer_are_all_executed_in_order(talk, workspace):
    conversation = talk({"tools": [write(workspace / f"file {n}") for n in range(3)]}, finish())
    events = conversation.wait_finished()
    actions = [event for event in events if event["kind"] == "ActionEvent"]
    assert [action["action"].get("path") for action in actions[:3]] == [
        str(workspace / f"file {n}") for n in range(3)
    ]
    assert all((workspace / f"file {n}").exists() for n in range(3))
    assert len(observations(events)) == 4 and unanswered(events) == []
    assert len(conversation.llm_calls()) == 2


# Final response


@pytest.mark.parametrize("step", [finish("the answer"), say("the answer")], ids=["finish", "text"])
def test_the_final_response_is_the_last_word_of_the_agent(talk, step):
    conversation = talk(*thinking(1), step)
    conversation.wait_finished()
    assert conversation.final_response == "the answer"


def test_the_final_response_is_empty_before_the_agent_has_answered(talk):
    assert talk().final_response == ""
    conversation = talk(say("never said", delay=20))
    conversation.wait_llm_call()
    assert conversation.final_response == ""


# Goals: runs that are judged and repeated (newer than version 1.23.1)

REACHED = say('{"score": 1.0, "complete": true, "missing": ""}')
"""What the agent says and what the judge, asked with the same script, says as well."""


def goal_states(conversation):
    return [
        event["value"]
        for event in conversation.of_kind("ConversationStateUpdateEvent")
        if event["key"] == "goal"
    ]


def wait_goal(conversation, *wanted):
    def reached():
        states = goal_states(conversation)
        return states[-1] if states and states[-1]["status"] in wanted else None

    return wait_until(reached, 20, message=f"goal {wanted}")


@pytest.mark.since_1_23
def test_a_goal_is_complete_when_the_judge_says_so(talk):
    conversation = talk()
    conversation.ok("goal", {"objective": "Say it. " + conversation.script(REACHED)})
    state = wait_goal(conversation, "complete", "capped", "interrupted")
    assert state["status"] == "complete" and state["active"] is False
    assert state["verdict"]["complete"] is True
    assert goal_states(conversation)[0]["status"] == "running"
    assert conversation.status == "finished"


@pytest.mark.since_1_23
def test_a_goal_that_is_not_reached_ends_after_its_rounds(talk):
    conversation = talk()
    objective = "Never. " + conversation.script(*[say("no verdict")] * 4)
    conversation.ok("goal", {"objective": objective, "max_iterations": 2})
    state = wait_goal(conversation, "complete", "capped", "interrupted")
    assert (state["status"], state["iteration"]) == ("capped", 2)
    has_detail(conversation.post("goal/resume"), 400)


@pytest.mark.since_1_23
def test_a_goal_can_be_interrupted_and_resumed(talk):
    conversation = talk()
    objective = "Slowly. " + conversation.script(say("never said", delay=20))
    conversation.ok("goal", {"objective": objective})
    conversation.wait_llm_call()
    has_detail(conversation.post("goal", {"objective": "Another."}), 409)
    has_detail(conversation.post("run"), 409)
    conversation.ok("interrupt")
    assert wait_goal(conversation, "interrupted")["active"] is False
    assert conversation.status == "paused"
    wait_until(lambda: conversation.post("goal/resume").status_code == 200, message="resumed")
    conversation.wait_llm_call()
    conversation.ok("goal/stop")
    wait_goal(conversation, "interrupted")


@pytest.mark.since_1_23
@pytest.mark.parametrize(
    "body, status",
    [({}, 422), ({"objective": ""}, 400), ({"objective": "x", "max_iterations": 0}, 422)],
    ids=str,
)
def test_a_bad_goal_is_refused(talk, body, status):
    has_detail(talk().post("goal", body), status)
