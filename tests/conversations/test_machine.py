"""Any order of commands: a state machine that hypothesis drives, with one seed, against the server."""

import json
import uuid

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.contract.dialogue import Dialogue, think, unanswered
from tests.support.waiting import wait_until

MACHINE = settings(
    max_examples=6,
    stateful_step_count=12,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.timeout(300)
def test_no_order_of_commands_strands_a_message_or_breaks_the_history(http, llm_url, agent_config, tmp_path):
    class Machine(RuleBasedStateMachine):
        @initialize()
        def open(self):
            folder = tmp_path / uuid.uuid4().hex
            folder.mkdir()
            self.conversation = Dialogue.open(http, llm_url, agent_config, folder)
            self.asked = None  # the marker of the newest input that no later stop withdrew

        def say(self, run):
            marker = f"said-{uuid.uuid4().hex}"
            script = {"steps": [think(f"about {marker}", delay=0.15)], "strict": True, "marker": marker}
            self.conversation.send("PLAN " + json.dumps(script), run=run)
            return marker

        @rule()
        def message_and_run(self):
            self.asked = self.say(run=True)

        @rule()
        def message(self):
            self.say(run=False)

        @rule()
        def run(self):
            assert self.conversation.post("run").status_code in (200, 409)

        @rule()
        def pause(self):
            self.conversation.ok("pause")
            self.asked = None

        @rule()
        def interrupt(self):
            self.conversation.ok("interrupt")
            assert self.conversation.status != "running"
            self.asked = None

        @rule()
        def rest(self):
            self.at_rest()

        def at_rest(self):
            wait_until(lambda: self.conversation.status != "running", 30, message="rest")
            if self.asked is not None:
                wait_until(self.was_seen, 10, message=f"a model request with {self.asked}")
                wait_until(lambda: self.conversation.status != "running", 30, message="rest")

        def was_seen(self):
            import httpx

            return httpx.get(f"{llm_url}/requests", params={"contains": self.asked}).json()

        def teardown(self):
            if not hasattr(self, "conversation"):
                return
            self.at_rest()
            assert unanswered(self.conversation.events()) == []
            assert self.conversation.delete().status_code == 200

    run_state_machine_as_test(Machine, settings=MACHINE)
