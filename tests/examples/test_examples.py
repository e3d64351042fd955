"""Each program of examples/ does what its first lines say."""

import functools
import os
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.clients.conftest import npm_project  # noqa: F401  (fixture)
from tests.contract.conftest import plan
from tests.contract.dialogue import finish, shell
from tests.dashboard.conftest import browser  # noqa: F401  (fixture)
from tests.examples.conftest import EXAMPLES

ALWAYS = {"kind": "AlwaysConfirm"}


@pytest.fixture
def served():
    """The directory examples/ as a web server of this machine shows it; its address."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=EXAMPLES)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, name="examples", daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(10)


@pytest.mark.slow
def test_the_watcher_interrupts_at_the_unwanted_command(example, tmp_path):
    steps = plan(shell("echo harmless"), shell("sleep 60 && touch came-to-its-end"), finish())

    code, said = example("watch_and_interrupt.py", "--workspace", tmp_path, "--say", steps)

    assert code == 0, said
    assert "$ echo harmless" in said
    assert "The conversation is paused." in said
    assert not (tmp_path / "came-to-its-end").exists()


def test_the_bot_accepts_what_is_harmless_and_refuses_what_is_not(example, start, workspace):
    steps = plan(shell("echo harmless"), shell("touch it; rm -r x"), finish())
    conversation = start(steps, confirmation_policy=ALWAYS)

    code, said = example("approval_bot.py", conversation.id)

    assert "accepted" in said, said
    assert "refused Not allowed here: touch it; rm -r x" in said
    assert not (Path(workspace) / "it").exists()
    assert "UserRejectObservation" in [event["kind"] for event in conversation.events()]
    assert code == 0


def test_the_job_succeeds_with_its_agent(example, tmp_path):
    task = plan(shell("echo done > result.txt"), finish("All is well."))

    code, said = example("ci_job.py", "--workspace", tmp_path, task)

    assert code == 0, said
    assert (tmp_path / "result.txt").read_text() == "done\n"
    assert said.endswith("> All is well.\nThe agent ended with: finished\n")


def test_the_job_fails_with_its_agent(example, tmp_path):
    task = plan({"status": 400, "say": "no such model"})

    code, said = example("ci_job.py", "--workspace", tmp_path, task)

    assert code == 1
    assert "no such model" in said
    assert said.endswith("The agent ended with: error\n")


def test_the_job_ends_an_agent_that_takes_too_long(example, http, tmp_path):
    task = plan(shell("sleep 60"), finish())

    code, said = example("ci_job.py", "--workspace", tmp_path, "--timeout", 3, task)

    assert code == 1
    assert said.endswith("The agent ended with: timeout\n")
    running = http.get("/api/conversations/search", params={"status": "running"}).json()["items"]
    assert str(tmp_path) not in [one["workspace"]["working_dir"] for one in running]


@pytest.mark.slow
def test_the_nightly_job_says_what_it_deletes(example, tmp_path):
    command, data = str(Path(sys.executable).with_name("agentserver")), str(tmp_path / "data")
    assert example(command, "migrate", "-v", "0", "--data", data) == (0, "")

    code, said = example("nightly_prune.sh", AGENTSERVER=command, AGENT_SERVER_DATA=data)

    assert (code, said) == (0, "0 bash events would be deleted.\n0 bash events deleted.\n")


@pytest.mark.timeout(480)
def test_the_typescript_client_follows_an_agent_to_its_end(npm_project, agent_server, llm_url, tmp_path):  # noqa: F811
    project = npm_project(EXAMPLES / "typescript")
    environment = {
        "PATH": os.environ["PATH"],
        "AGENT_SERVER_URL": agent_server.url,
        "LLM_MODEL": "openai/fake-model",
        "LLM_BASE_URL": f"{llm_url}/v1",
        "WORKSPACE": str(tmp_path),
    }

    followed = subprocess.run(
        ["node", "follow.mjs", plan(shell("echo seen"), finish("All is well."))],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert followed.returncode == 0, followed.stdout + followed.stderr
    assert followed.stdout == "$ echo seen\nAll is well.\nThe conversation is finished.\n"


def test_the_page_shows_a_conversation_live_and_stops_it(browser, served, agent_server, start):  # noqa: F811
    conversation = start(plan(shell("echo seen; sleep 60"), finish()), autotitle=False)
    page = browser.new_page()

    page.goto(f"{served}/dashboard.html?server={agent_server.url}")
    page.get_by_role("button", name=f"running: {conversation.id}").click()
    page.get_by_text("ActionEvent: echo seen; sleep 60").wait_for()
    page.get_by_role("button", name="Interrupt", exact=True).click()
    page.get_by_text("InterruptEvent").wait_for()

    assert conversation.wait_status("paused") == "paused"
    page.close()


def test_the_page_is_forty_lines():
    assert len((EXAMPLES / "dashboard.html").read_text().splitlines()) <= 41
