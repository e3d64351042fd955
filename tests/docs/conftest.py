"""A terminal in which the commands of the documents can be typed."""

import os
import shutil
import signal
import stat
import subprocess

import httpx
import pytest

from tests.docs.blocks import ROOT
from tests.support.server import NOT_INHERITED

# Like make, but what `make setup` does has been done by whoever runs the tests, and ARGS gets more.
MAKE = """\
#!/usr/bin/env bash
given=() more=$EXTRA_ARGS
for word in "$@"; do
  case $word in ARGS=*) more="${word#ARGS=} $more" ;; *) given+=("$word") ;; esac
done
exec REAL -C ROOT -o setup "${given[@]}" ARGS="$more"
"""


@pytest.fixture
def terminal(tmp_path):
    """Callable: type a text into bash, in an empty directory; a Popen. What still runs is ended."""
    tools = tmp_path / "tools"
    tools.mkdir()
    make = tools / "make"
    make.write_text(MAKE.replace("REAL", shutil.which("make")).replace("ROOT", str(ROOT)))
    make.chmod(make.stat().st_mode | stat.S_IXUSR)
    directory = tmp_path / "directory"
    directory.mkdir()
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
        process.stdout.close()
        process.wait(10)


@pytest.fixture
def unset_model(agent_server):
    """The settings name no model, before the test and after it; a callable that reads them."""

    def unset():
        answer = httpx.patch(f"{agent_server.url}/api/settings", json={"agent_settings_diff": {"llm": None}})
        assert answer.status_code == 200, answer.text

    unset()
    yield lambda: httpx.get(f"{agent_server.url}/api/settings").json()["agent_settings"]["llm"]
    unset()
