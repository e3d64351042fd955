"""Ending what an agent's terminal still runs after an interrupt.

Ctrl-C is what the SDK sends; a command may ignore it, and without tmux it is not even delivered.
So every process below the terminal's shells is ended by its process group: TERM, then KILL.
"""

import contextlib
import functools
import logging
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psutil

logger = logging.getLogger(__name__)

CTRL_C_SECONDS = 0.5
"""What Ctrl-C is given before TERM."""
BUSY_SECONDS = 0.6
"""How long a shell may take to be back at its prompt before it counts as busy."""
RESTING = {psutil.STATUS_SLEEPING, psutil.STATUS_IDLE, psutil.STATUS_ZOMBIE}
LOOK_BACK = 50
"""Events among which the last typed command is looked for."""
TERM_SECONDS = 1.0
"""What TERM is given before KILL, so that traps run."""


def end_commands(conversation: Any) -> None:
    """End the foreground commands of ``conversation``'s terminals; returns when they are gone.

    Background jobs of an earlier command are left alone, as Ctrl-C leaves them, unless their shell
    has to go too.
    """
    shells = _shells(conversation)
    victims = _foreground(shells)
    for process in victims:
        # The terminal may be late with the SDK's. What dies of TERM instead lets its shell go on
        # with the next command of the line.
        _signal(process, signal.SIGINT)
    _wait(victims, CTRL_C_SECONDS)
    if any(map(_alive, victims)) and _has_more(conversation):
        for pid in [one for one in shells if _foreground([one])]:
            _end_shell(pid, shells.pop(pid))
    for number, seconds in ((signal.SIGTERM, TERM_SECONDS), (signal.SIGKILL, TERM_SECONDS)):
        victims |= _foreground(shells)  # what was started meanwhile
        for process in filter(_alive, victims):
            _signal(process, number)
        _wait(victims, seconds)
    for pid, give_up in shells.items():
        if _stays_busy(pid):  # the command is the shell's own, a loop that ignores Ctrl-C
            _end_shell(pid, give_up)


def _has_more(conversation: Any) -> bool:
    """Whether the line that the agent typed last may go on with another command after this one.

    A mark of the shell inside quotes counts too: then a shell is lost that could have been kept.
    """
    events = conversation.state.events
    for index in range(len(events) - 1, max(-1, len(events) - LOOK_BACK), -1):
        action = getattr(events[index], "action", None)
        if (command := getattr(action, "command", "")) and not getattr(action, "is_input", False):
            return any(mark in command for mark in (";", "||", "\n"))
    return True


def _end_shell(pid: int, give_up: Callable[[], None]) -> None:
    """End the shell before what it runs, so that it begins nothing more. The next command gets another."""
    with contextlib.suppress(psutil.Error):
        shell = psutil.Process(pid)
        below = set(shell.children(recursive=True))
        with contextlib.suppress(Exception):  # the terminal may be closed meanwhile: nothing to give up
            give_up()
        _signal(shell, signal.SIGKILL)
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in filter(_alive, below):
                _signal(process, number)
            _wait({shell, *below}, TERM_SECONDS)


def _stays_busy(pid: int) -> bool:
    """Whether the shell goes on with a command: something in its foreground, or computing itself.

    A shell at its prompt sleeps in its own process group. Looked at until it is seen there twice.
    """
    deadline, calm = time.monotonic() + BUSY_SECONDS, 0
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid):
            return False
        calm = calm + 1 if _at_prompt(pid) else 0
        if calm == 2:
            return False
        time.sleep(0.05)
    return True


def _at_prompt(pid: int) -> bool:
    with contextlib.suppress(psutil.Error, OSError):
        return _foreground_group(pid) == os.getpgid(pid) and psutil.Process(pid).status() in RESTING
    return True


def _shells(conversation: Any) -> dict[int, Callable[[], None]]:
    """The shells of the conversation's terminals, and how the terminal tool is told that one is gone."""
    shells: dict[int, Callable[[], None]] = {}
    with contextlib.suppress(RuntimeError, AttributeError):
        for tool in conversation.agent.tools_map.values():
            executor = getattr(tool, "executor", None)
            shells |= _in_panes(executor) | _in_process(executor)
    return shells


def _in_panes(executor: Any) -> dict[int, Callable[[], None]]:
    """With tmux: one shell in each pane of the pool."""
    shells = {}
    for terminal in list(getattr(getattr(executor, "_pool", None), "_all_panes", ())):
        with contextlib.suppress(Exception):
            shells[int(terminal.pane.pane_pid)] = functools.partial(_give_up_pane, terminal)
    return shells


def _give_up_pane(terminal: Any) -> None:
    """Let the pool replace the pane; the pane stays, as tmux ends its server with the last one."""
    terminal.pane.cmd("set-option", "-w", "remain-on-exit", "on")
    terminal._closed = True


def _in_process(executor: Any) -> dict[int, Callable[[], None]]:
    """Without tmux: one shell, a child of this process."""
    session = getattr(executor, "_session", None)
    process = getattr(getattr(session, "terminal", None), "process", None)
    return {} if process is None else {process.pid: functools.partial(_give_up_session, session)}


def _give_up_session(session: Any) -> None:
    session.terminal.process.kill()  # closing would wait for it
    session.close()


def _foreground(shells: Iterable[int]) -> set[psutil.Process]:
    """The processes of the foreground process groups of the shells' terminals, and all below them."""
    found: set[psutil.Process] = set()
    for pid in shells:
        with contextlib.suppress(psutil.Error, OSError):
            group = _foreground_group(pid)
            if group != os.getpgid(pid):
                found |= {p for p in psutil.Process(pid).children(recursive=True) if _in_group(p, group)}
    for process in list(found):
        with contextlib.suppress(psutil.Error):
            found |= set(process.children(recursive=True))
    return found


def _foreground_group(pid: int) -> int:
    """The foreground process group of the terminal of ``pid`` (proc(5), field ``tpgid``)."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[5])


def _in_group(process: psutil.Process, group: int) -> bool:
    with contextlib.suppress(OSError):
        return os.getpgid(process.pid) == group
    return False


def _alive(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _signal(process: psutil.Process, number: int) -> None:
    with contextlib.suppress(psutil.Error, ProcessLookupError, PermissionError):
        os.kill(process.pid, number)


def _wait(processes: set[psutil.Process], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while any(map(_alive, processes)) and time.monotonic() < deadline:
        time.sleep(0.02)
