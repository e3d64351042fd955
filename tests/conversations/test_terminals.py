"""The agent's terminal on a machine whose shells are slow to start."""

import shutil

import pytest

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

START_SECONDS = 0.7


@pytest.fixture
def slow_terminal(tmp_path, monkeypatch):
    """A terminal session whose shell takes a while to its first prompt."""
    from agentserver import sdk

    sdk.require()
    from openhands.tools.terminal.terminal.terminal_session import TerminalSession
    from openhands.tools.terminal.terminal.tmux_terminal import TmuxTerminal

    home, sockets = tmp_path / "home", tmp_path / "t"
    home.mkdir()
    sockets.mkdir()
    (home / ".bashrc").write_text(f"sleep {START_SECONDS}\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMUX_TMPDIR", str(sockets))
    session = TerminalSession(TmuxTerminal(str(tmp_path)))
    session.initialize()
    yield session
    session.close()


def execute(session, command):
    from openhands.tools.terminal.definition import TerminalAction

    observation = session.execute(TerminalAction(command=command))
    return observation.metadata.exit_code, observation.text


def test_the_first_command_is_awaited_and_its_output_is_its_own(slow_terminal):
    first = execute(slow_terminal, "echo begun; sleep 0.5; echo ended; false")
    second = execute(slow_terminal, "echo next")

    assert first == (1, "begun\nended")
    assert second == (0, "next")


def test_a_command_that_clears_the_screen_itself_is_told_from_the_clearing(slow_terminal):
    assert [execute(slow_terminal, "clear; echo there") for _ in range(3)] == [(0, "there")] * 3
