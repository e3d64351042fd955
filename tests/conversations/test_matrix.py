"""Every command in every state: an answer that is no failure, and afterwards a history models accept."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contract.dialogue import Dialogue, finish, say, shell, think, write
from tests.contract.kit import read_pids

ALWAYS = {"confirmation_policy": {"kind": "AlwaysConfirm"}}


def created(open_, folder):
    return open_(folder)


def in_a_model_call(open_, folder):
    conversation = open_(folder, say("never said", delay=30))
    conversation.wait_llm_call()
    return conversation


def running_a_tool(open_, folder):
    conversation = open_(folder, shell(f"sh -c 'echo $$ > {folder}/pid; exec sleep 60'"))
    read_pids(folder / "pid")
    return conversation


def waiting(open_, folder):
    conversation = open_(folder, write(folder / "executed"), **ALWAYS)
    conversation.wait_status("waiting_for_confirmation")
    return conversation


def pausing(open_, folder):
    conversation = open_(folder, think("slow", delay=4))
    conversation.wait_llm_call()
    conversation.ok("pause")
    return conversation


def paused(open_, folder):
    conversation = in_a_model_call(open_, folder)
    conversation.ok("interrupt")
    return conversation


def finished(open_, folder):
    conversation = open_(folder, finish("over"))
    conversation.wait_finished()
    return conversation


def failed(open_, folder):
    conversation = open_(folder, {"status": 500})
    conversation.wait_status("error")
    return conversation


STATES = [created, in_a_model_call, running_a_tool, waiting, pausing, paused, finished, failed]
COMMANDS = {
    "run": lambda c: c.post("run"),
    "pause": lambda c: c.post("pause"),
    "interrupt": lambda c: c.post("interrupt"),
    "message and run": lambda c: c.tell(finish("told"), finish("told")),
    "message": lambda c: c.tell(finish("told"), finish("told"), run=False),
    "accept": lambda c: c.post("events/respond_to_confirmation", {"accept": True}),
    "reject": lambda c: c.post("events/respond_to_confirmation", {"accept": False}),
}


@pytest.fixture
def in_state(http, llm_url, agent_config, tmp_path):
    """Callable: a new conversation in a state; deleted when the test ends."""
    opened = []

    def _in_state(state, name):
        folder = tmp_path / name
        folder.mkdir()

        def open_(where, *steps, **options):
            opened.append(Dialogue.open(http, llm_url, agent_config, where, *steps, **options))
            return opened[-1]

        return state(open_, folder)

    yield _in_state
    for conversation in opened:
        conversation.delete()


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_every_command_is_answered_and_leaves_a_conversation_that_goes_on(in_state, state, wait_until):
    def check(name):
        conversation = in_state(state, name.replace(" ", "-"))
        answer = COMMANDS[name](conversation)
        assert 200 <= answer.status_code < 500, (name, answer.text)
        wait_until(lambda: conversation.post("interrupt").status_code == 200, message="interrupt")
        wait_until(lambda: conversation.status != "running", message=f"rest after {name}")
        conversation.tell(*[finish("the end")] * 3)
        wait_until(lambda: conversation.final_response == "the end", 30, message=f"answer after {name}")
        conversation.wait_finished()
        refused = [c for c in conversation.llm_calls() if c["status"] == 400]
        assert refused == [], f"after {name} a strict model refused the history"

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(check, COMMANDS))


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_delete_is_answered_in_every_state(in_state, http, state):
    conversation = in_state(state, "deleted")

    assert conversation.delete().status_code == 200

    assert http.get(conversation.path).status_code == 404
