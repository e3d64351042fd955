"""A stop of the parent stops its sub-agents: their model calls, their commands, their next steps."""

import json

import pytest

from tests.contract.dialogue import Dialogue, shell, think
from tests.contract.kit import read_pids, wait_gone


@pytest.fixture
def delegating(http, llm_url, agent_config, workspace):
    """Callable: a conversation whose agent gives a sub-agent these steps; and the sub-agent's calls."""
    opened = []

    def _delegating(*steps):
        inner = "PLAN " + json.dumps({"steps": list(steps), "marker": "for the sub-agent"})
        agent = agent_config | {"tools": [{"name": "terminal"}, {"name": "task_tool_set"}]}
        task = {"tool": "task", "args": {"prompt": inner, "subagent_type": "general-purpose"}}
        parent = Dialogue.open(http, llm_url, agent, workspace, task)
        opened.append(parent)
        return parent, Dialogue(http, {"id": parent.id}, llm_url, marker="for the sub-agent")

    yield _delegating
    for conversation in opened:
        conversation.delete()


def child_calls(child, outcome=None):
    """Model calls of the sub-agent: what the user says there is not the call of the task tool."""
    return [
        call
        for call in child.llm_calls(outcome)
        if not any('"tool": "task"' in str(m["content"]) for m in call["messages"] if m["role"] == "user")
    ]


def test_an_interrupt_cancels_the_model_call_of_a_sub_agent(delegating, wait_until):
    parent, child = delegating({"say": "never said", "delay": 30})
    wait_until(lambda: child_calls(child, "pending"), 30, message="the sub-agent's model call")

    parent.ok("interrupt")

    assert parent.status == "paused"
    wait_until(lambda: child_calls(child, "cancelled"), 3, message="its end")
    assert child_calls(child, "pending") == []


def test_an_interrupt_ends_the_command_of_a_sub_agent(delegating, workspace):
    pid_file = workspace / "child.pid"
    parent, _ = delegating(shell(f"sh -c 'echo $$ > {pid_file}; exec sleep 60'"))
    pid = read_pids(pid_file, timeout=30)[0]

    parent.ok("interrupt")

    assert parent.status == "paused"
    wait_gone(pid)


def test_a_pause_lets_a_sub_agent_begin_no_further_step(delegating, wait_until):
    parent, child = delegating(*[think(f"thought {n}", delay=0.4) for n in range(40)])
    wait_until(lambda: len(child_calls(child, "finished")) >= 2, 30, message="two steps")

    parent.ok("pause")

    wait_until(lambda: parent.status == "paused", 10, message="paused")
    assert len(child_calls(child)) < 20
    assert child_calls(child, "pending") == []
