"""Where tmux is missing the terminal falls back to a simpler backend; an interrupt still ends all."""

import os
import shutil

import pytest

from tests.contract.dialogue import Dialogue, finish, observation_text, observations, shell
from tests.contract.kit import read_pids, wait_gone


@pytest.fixture
def without_tmux(own_server, tmp_path):
    """A server whose path holds every program of this machine but tmux."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for directory in os.environ["PATH"].split(os.pathsep):
        for name in os.listdir(directory) if os.path.isdir(directory) else ():
            link = folder / name
            if name != "tmux" and not link.exists():
                link.symlink_to(os.path.join(directory, name))
    assert shutil.which("tmux", path=str(folder)) is None
    return own_server(PATH=str(folder), OH_SECRET_KEY="tests-secret-key").wait_ready()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["exec sleep 60", "trap '' INT; sleep 60"], ids=["plain", "ignores Ctrl-C"]
)
def test_an_interrupt_ends_the_command_and_the_terminal_goes_on(
    without_tmux, llm_url, agent_config, workspace, command
):
    pid_file = workspace / "pid"
    after = workspace / "after"
    step = shell(f'bash -c "echo \\$\\$ > {pid_file}; {command}"; touch {after}')
    conversation = Dialogue.open(
        without_tmux.http, llm_url, agent_config, workspace, step, shell("echo alive"), finish("over")
    )
    pid = read_pids(pid_file)[0]

    conversation.ok("interrupt")

    assert conversation.status == "paused"
    wait_gone(pid)
    conversation.ok("run")
    events = conversation.wait_finished(timeout=60)
    assert "alive" in observation_text(observations(events)[0])
    assert not after.exists()
