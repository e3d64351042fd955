"""Every command block of the tutorial does what the text around it says."""

import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.docs.blocks import ROOT, blocks_of
from tests.docs.conftest import ADDRESS
from tests.support.waiting import wait_until

BLOCKS = blocks_of("docs/tutorial.md")
SERVE, CREATE, PAUSE, RESUME, INTERRUPT, SEND, BASH, COUNT = [b.text for b in BLOCKS if b.language == "bash"]
(WATCH,) = [b.text for b in BLOCKS if b.language == "python"]
(CRON,) = [b.text for b in BLOCKS if b.language == "cron"]
COMMAND = Path(sys.executable).with_name("agentserver")


@pytest.fixture
def typed(terminal, agent_server, tmp_path):
    """Callable: type a block against the running server, as one goes on in one terminal; its output."""
    kept = tmp_path / "variables"
    kept.touch()

    def _type(block):
        block = block.replace(ADDRESS, agent_server.url).replace(".venv/bin/agentserver", str(COMMAND))
        process = terminal(f". {kept}\n{block}\ndeclare -p URL ID > {kept} 2>/dev/null || true\n")
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0, output
        return output

    return _type


def test_the_tutorial_begins_as_the_readme_and_has_no_block_that_no_test_runs():
    assert SERVE.strip() in "".join(b.text for b in blocks_of("README.md", "bash"))
    assert {block.language for block in BLOCKS} == {"bash", "python", "cron"}


@pytest.mark.slow
@pytest.mark.usefixtures("unset_model")  # so that the demo model answers, slowly enough to be stopped
def test_a_conversation_is_started_paused_interrupted_and_watched(typed, agent_server, tmp_path):
    assert json.loads(typed(CREATE))["execution_status"] == "running"
    identity = re.search(r'ID="(.*)"', (tmp_path / "variables").read_text())[1]

    def status():
        return httpx.get(f"{agent_server.url}/api/conversations/{identity}").json()["execution_status"]

    typed(PAUSE)
    wait_until(lambda: status() == "paused", message="the pause")
    wait_until(lambda: "PauseEvent" in typed(PAUSE.splitlines()[1]), message="the pause among the events")

    typed(RESUME)
    assert '"execution_status":"paused"' in typed(INTERRUPT)

    typed(SEND)
    watched = subprocess.run(
        [sys.executable, "-c", WATCH.replace("ws://127.0.0.1:8000", agent_server.url.replace("http", "ws"))],
        env={"ID": identity, "PATH": ""},
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert watched.returncode == 0, watched.stderr
    assert "InterruptEvent" in watched.stdout
    assert status() == "finished"


def test_a_command_of_ones_own_is_run(typed):
    assert json.loads(typed(f"URL={ADDRESS}\n{BASH}"))["stdout"] == "hello\n"


@pytest.mark.slow
def test_old_events_are_counted_and_pruned_as_cron_does_it(terminal, tmp_path):
    prune = re.match(r"(?:\S+ ){5}(.*)", CRON)[1].replace(
        "/path/to/clone/.venv/bin/agentserver", str(COMMAND)
    )
    count = COUNT.replace(".venv/bin/agentserver", str(COMMAND))
    text = f"{COMMAND} migrate -v 0\n{count}{prune}"
    process = terminal(text, OH_PERSISTENCE_DIR=str(tmp_path / "data"))
    output, _ = process.communicate(timeout=100)

    assert process.returncode == 0, output
    assert output == "0 bash events would be deleted.\n0 bash events deleted.\n"
    assert output.splitlines()[0] in (ROOT / "docs" / "tutorial.md").read_text()
