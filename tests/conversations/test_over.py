"""A run of a conversation that is finished, and to which nothing came since."""

from tests.contract.dialogue import finish


def test_it_is_over_at_once_and_tells_nobody(talk):
    conversation = talk(finish())
    conversation.wait_finished()
    before = conversation.info

    assert conversation.post("run").status_code == 200

    assert conversation.info == before  # with updated_at: no run was begun


def test_a_stop_hook_is_asked_again(talk, workspace, wait_until):
    asked = workspace / "asked"
    asking = {"type": "command", "command": f"echo once more >> {asked}"}
    conversation = talk(finish(), hook_config={"stop": [{"matcher": "*", "hooks": [asking]}]})
    conversation.wait_finished()
    count = len(asked.read_text().splitlines())

    assert conversation.post("run").status_code == 200

    wait_until(lambda: len(asked.read_text().splitlines()) > count, message="the hook")
    conversation.wait_finished()
    assert len(conversation.llm_calls()) == 1
