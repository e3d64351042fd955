"""Every command block of the README does what the text around it says."""

import re
import subprocess
import sys

import httpx
import pytest

from tests.docs.blocks import ROOT, blocks_of
from tests.docs.conftest import ADDRESS
from tests.support.waiting import wait_until

BLOCKS = blocks_of("README.md")
DEMO, SERVE, CREATE, LOOK, STOP = [b.text for b in BLOCKS if b.language == "bash"]
(PYTHON,) = [b.text for b in BLOCKS if b.language == "python"]


@pytest.fixture
def typed(terminal, agent_server, tmp_path):
    """Callable: type a block against the running server, as one goes on in one terminal; its output."""
    kept = tmp_path / "variables"
    kept.touch()
    curl = 'curl() { command curl --fail-with-body "$@"; }\n'

    def _type(block):
        remember = f"\ndeclare -p URL ID > {kept}\n"
        process = terminal(f". {kept}\n{curl}{block.replace(ADDRESS, agent_server.url)}{remember}")
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0, output
        return output

    return _type


@pytest.fixture
def conversation(agent_server, tmp_path):
    """Callable: the conversation that the blocks made, as JSON."""

    def _read():
        found = re.search(r'ID="(.*)"', (tmp_path / "variables").read_text())[1]
        return httpx.get(f"{agent_server.url}/api/conversations/{found}").json()

    return _read


def test_the_readme_is_short_and_has_no_block_that_no_test_runs():
    assert {block.language for block in BLOCKS} == {"bash", "python"}
    assert len((ROOT / "README.md").read_text().splitlines()) < 100


@pytest.mark.slow
def test_make_serve_brings_up_a_server_and_says_where(serving):
    url = serving(SERVE)

    assert httpx.get(f"{url}/server_info", timeout=60).json()["version"]


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_make_demo_shows_all_it_promises(terminal):
    process = terminal(DEMO)
    output, _ = process.communicate(timeout=200)

    assert process.returncode == 0, output
    for told in ("--- pause", "--- resume", "--- interrupt", "All of it happened."):
        assert told in output


@pytest.mark.slow
@pytest.mark.usefixtures("unset_model")
def test_the_first_conversation_with_curl_is_seen_and_interrupted(typed, conversation):
    typed(CREATE)
    assert conversation()["agent"]["llm"]["model"] == "openai/demo"
    assert conversation()["execution_status"] == "running"

    wait_until(lambda: "Show me what you can do." in typed(LOOK), message="the message among the events")
    typed(STOP)
    assert conversation()["execution_status"] == "paused"


@pytest.mark.slow
def test_the_same_with_the_sdk_runs_to_its_end(agent_server, tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", PYTHON.replace(ADDRESS, agent_server.url)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=110,
    )

    assert run.returncode == 0, run.stderr
    assert "finished" in run.stdout.lower()


@pytest.mark.parametrize(
    "name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
)
def test_links_between_documents_lead_somewhere(name):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / name).read_text())

    assert [link for link in links if not (ROOT / link).exists()] == []
