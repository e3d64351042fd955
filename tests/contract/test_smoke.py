"""The shortest path through the whole product: one conversation, start to finish."""

from tests.contract.conftest import plan


def test_a_conversation_runs_a_command_and_finishes(start, workspace):
    conversation = start(
        plan(
            {"tool": "terminal", "args": {"command": "echo hello > greeting.txt"}},
            {"tool": "finish", "args": {"message": "all done"}},
        )
    )
    conversation.wait_status("finished", timeout=60)
    assert (workspace / "greeting.txt").read_text().strip() == "hello"
    kinds = conversation.kinds()
    assert kinds.count("ActionEvent") == 2 and kinds.count("ObservationEvent") == 2


def test_interrupt_cancels_the_llm_call_in_flight(start, llm_stats):
    before = llm_stats()["cancelled"]
    conversation = start(plan({"say": "never said", "delay": 30}))
    conversation.wait_status("running")
    from tests.contract.conftest import wait_until

    wait_until(lambda: llm_stats()["in_flight"] > 0, message="LLM call in flight")
    response = conversation.action("interrupt")
    assert response.status_code == 200, response.text
    assert conversation.status == "paused"
    assert "InterruptEvent" in conversation.kinds()
    wait_until(lambda: llm_stats()["cancelled"] > before, timeout=5, message="LLM request cancelled")
