"""What a step of an agent costs the server as its conversation grows, and what decision 14 saves of it.

CPU of the whole server for steps without a delay. Nothing here fails for being slow.
"""

import psutil
import pytest

from agentserver.bootstrap import MODEL_CLIENT
from tests.contract.dialogue import Dialogue, finish, thinking
from tests.support.server import OwnServer

STAGES = (20, 40, 60, 80)
"""Steps of one run after the other, in one conversation."""


def cpu_seconds(server):
    times = psutil.Process(server.process.pid).cpu_times()
    return times.user + times.system


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("switch", "name"), [("true", "litellm's own client"), ("false", "the OpenAI client")]
)
def test_steps(tmp_path, llm_url, table, switch, name):
    llm = {"usage_id": "bench", "model": "openai/fake", "base_url": f"{llm_url}/v1", "api_key": "k"}
    agent = {"kind": "Agent", "llm": llm, "include_default_tools": ["FinishTool", "ThinkTool"]}
    server = OwnServer(tmp_path, OH_SECRET_KEY="bench", **{MODEL_CLIENT: switch})
    server.start().wait_ready()
    try:
        Dialogue.open(
            server.http, llm_url, agent, tmp_path, *thinking(3), finish()
        ).wait_finished()  # imports
        conversation = Dialogue.open(server.http, llm_url, agent, tmp_path, finish(), stuck_detection=False)
        before = len(conversation.wait_finished())
        for steps in STAGES:
            begun = cpu_seconds(server)
            conversation.tell(*thinking(steps), finish())
            after = len(conversation.wait_finished(timeout=200))
            per_step = 1000 * (cpu_seconds(server) - begun) / (steps + 1)
            table.at(f"CPU of a step, {name}", (before + after) // 2, per_step)
            before = after
    finally:
        server.stop()
