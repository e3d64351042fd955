"""A terminal in which the commands of the documents can be typed."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.docs import transcripts
from tests.docs.blocks import ROOT
from tests.support.server import NOT_INHERITED
from tests.support.waiting import free_port, wait_until

ADDRESS = "http://127.0.0.1:8000"
"""Where the documents' server is."""

# Like make, but what `make setup` does has been done by whoever runs the tests, and ARGS gets more.
MAKE = """\
#!/usr/bin/env bash
given=() more=$EXTRA_ARGS
for word in "$@"; do
  case $word in ARGS=*) more="${word#ARGS=} $more" ;; *) given+=("$word") ;; esac
done
exec REAL -C ROOT -o setup "${given[@]}" ARGS="$more"
"""
AGENTSERVER = """\
#!/usr/bin/env bash
case $1 in serve) exec REAL "$@" $EXTRA_ARGS ;; *) exec REAL "$@" ;; esac
"""


@pytest.fixture
def terminal(tmp_path):
    """Callable: type a text into bash, in an empty directory; a Popen. What still runs is ended."""
    tools = tmp_path / "tools"
    tools.mkdir()
    _program(tools / "make", MAKE, REAL=shutil.which("make"), ROOT=str(ROOT))
    _program(tools / "agentserver", AGENTSERVER, REAL=str(Path(sys.executable).with_name("agentserver")))
    directory = tmp_path / "directory"
    directory.mkdir()
    (directory / ".venv").symlink_to(sys.prefix)  # what a clone has; `examples/` likewise
    (directory / "examples").symlink_to(ROOT / "examples")
    started = []

    def _type(text, **environment):
        inherited = {
            k: v for k, v in os.environ.items() if not k.startswith("OH_") and k not in NOT_INHERITED
        }
        process = subprocess.Popen(
            ["bash", "-euc", text],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={
                **inherited,
                "HOME": str(tmp_path),
                "PATH": f"{tools}:{os.environ['PATH']}",
                "EXTRA_ARGS": "",
                **environment,
            },
        )
        started.append(process)
        return process

    yield _type
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        if not process.stdout.closed:
            print(process.stdout.read()[-3000:])  # shown of a test that fails
            process.stdout.close()
        process.wait(10)


def _program(path, text, **values):
    for name, value in values.items():
        text = text.replace(name, value)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def serving(terminal, tmp_path):
    """Callable: type a command that starts a server; its address on this machine, when it is up."""

    def _serve(text, **environment):
        port = free_port()
        arguments = f"--port {port} --data {tmp_path / 'data'}"
        process = terminal(text, EXTRA_ARGS=arguments, **environment)

        def answers():
            assert process.poll() is None, process.stdout.read()
            try:
                return httpx.get(f"http://127.0.0.1:{port}/alive").status_code == 200
            except httpx.HTTPError:
                return False

        wait_until(answers, timeout=90, message="the server")
        return f"http://127.0.0.1:{port}"

    return _serve


@pytest.fixture
def follow(terminal):
    """Callable: take the steps of console blocks in one session, against a server; the steps, as seen.

    Each has to end well, but those that begin with one of ``refused``, and to show what is promised.
    """

    def _follow(blocks, url=ADDRESS, refused=(), **environment):
        steps = [step for block in blocks for step in transcripts.steps_of(block.text)]
        process = terminal(transcripts.script_of(steps).replace(ADDRESS, url), **environment)
        output, _ = process.communicate(timeout=150)
        transcripts.read(steps, output)
        for step in steps:
            assert bool(step.code) == step.command.startswith(tuple(refused)), str(step)
            assert step.kept(), str(step)
        return steps

    return _follow


@pytest.fixture
def unset_model(agent_server):
    """The settings name no model, before the test and after it; a callable that reads them."""

    def unset():
        answer = httpx.patch(f"{agent_server.url}/api/settings", json={"agent_settings_diff": {"llm": None}})
        assert answer.status_code == 200, answer.text

    unset()
    yield lambda: httpx.get(f"{agent_server.url}/api/settings").json()["agent_settings"]["llm"]
    unset()
