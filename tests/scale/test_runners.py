"""Runners that die, freeze and end: others go on, nothing is executed twice, nothing written twice."""

import signal

import pytest

from tests.contract.dialogue import finish, observation_text, observations, say, shell, unanswered
from tests.contract.kit import unique

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TAKEN_OVER = 60
"""Seconds to wait for another runner; how long it takes is measured in docs/scaling.md."""


@pytest.fixture
def at_rest(wait_until):
    """Callable: wait until it says error, then let it go on to an answer; its events are in order."""

    def _at_rest(conversation):
        wait_until(lambda: conversation.status == "error", TAKEN_OVER, message="another runner")
        assert unanswered(conversation.events()) == []
        conversation.tell(finish("went on"))
        events = conversation.wait_finished(timeout=30)
        assert conversation.final_response == "went on"
        assert len({event["id"] for event in events}) == len(events)
        assert {call["status"] for call in conversation.llm_calls() if call["outcome"] == "finished"} == {200}
        return events

    return _at_rest


def test_another_runner_takes_over_what_a_killed_one_was_doing(open_conversation, runner_of, place, at_rest):
    name = unique("killed")
    conversation = open_conversation(shell(f"{place(name)}; sleep 120"))
    runner = runner_of(name)

    runner.kill()

    events = at_rest(conversation)
    (answer,) = [event for event in events if event["kind"] == "AgentErrorEvent"]
    (call,) = [
        event for event in events if event["kind"] == "ActionEvent" and event["tool_name"] == "terminal"
    ]
    assert answer["tool_call_id"] == call["tool_call_id"]


def test_a_frozen_runner_that_wakes_up_writes_nothing(
    open_conversation, runner_of, place, at_rest, wait_until
):
    name = unique("frozen")
    conversation = open_conversation(shell(place(name)), say("the frozen one's words", delay=3), finish())
    runner = runner_of(name)
    conversation.wait_llm_call()

    runner.suspend()
    try:
        at_rest(conversation)
    finally:
        runner.resume()

    # It is awake when it has taken and ended other conversations.
    for number in range(6):
        other = open_conversation(shell(place(f"{name}-{number}")), finish())
        other.wait_finished(timeout=30)
    texts = [str(event) for event in conversation.events()]
    assert not [text for text in texts if "the frozen one's words" in text and "PLAN" not in text]


def test_a_runner_that_is_ended_hands_its_conversations_over(open_conversation, runner_of, place, workspace):
    first, second = unique("first"), unique("second")
    conversation = open_conversation(
        shell(f"{place(first)}; sleep 3; echo slept"), shell(place(second)), finish("went on elsewhere")
    )
    runner = runner_of(first)

    runner.send_signal(signal.SIGTERM)

    events = conversation.wait_finished(timeout=60)
    assert conversation.final_response == "went on elsewhere"
    assert observation_text(observations(events)[0]).strip() == "slept"
    assert (workspace / first).read_text().count("\n") == 1
    assert runner_of(second).pid != runner.pid
    assert not {"PauseEvent", "InterruptEvent", "AgentErrorEvent"} & {event["kind"] for event in events}


@pytest.mark.parametrize("kind", ["pause", "interrupt"])
def test_a_stop_reaches_the_runner_through_either_web_process(open_conversation, kind):
    for _ in range(2):  # requests go to the web processes in turn
        conversation = open_conversation(shell("true", delay=5 if kind == "pause" else 60), finish())
        conversation.wait_llm_call()

        assert conversation.post(kind).status_code == 200

        conversation.wait_status("paused")
        assert unanswered(conversation.events()) == []
