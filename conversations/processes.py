"""Ending what an agent's terminal still runs after an interrupt.

Ctrl-C is what the SDK sends; a command may ignore it, and without tmux it is not even delivered.
So every process below the terminal's shells is ended by its process group: TERM, then KILL.
"""

import contextlib
import logging
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil

logger = logging.getLogger(__name__)

CTRL_C_SECONDS = 0.5
"""What Ctrl-C is given before TERM."""
BUSY_SECONDS = 0.6
"""How long a shell may take to be back at its prompt before it counts as busy."""
RESTING = {psutil.STATUS_SLEEPING, psutil.STATUS_IDLE, psutil.STATUS_ZOMBIE}
TERM_SECONDS = 1.0
"""What TERM is given before KILL, so that traps run."""


def end_commands(conversation: Any) -> None:
    """End the foreground commands of ``conversation``'s terminals; returns when they are gone.

    Background jobs of an earlier command are left alone, as Ctrl-C leaves them.
    """
    shells = shell_pids(conversation)
    victims = _foreground(shells)
    for process in victims:
        # The terminal may be late with the SDK's. What dies of TERM instead lets its shell go on
        # with the next command of the line.
        _signal(process, signal.SIGINT)
    _wait(victims, CTRL_C_SECONDS)
    for number, seconds in ((signal.SIGTERM, TERM_SECONDS), (signal.SIGKILL, TERM_SECONDS)):
        victims |= _foreground(shells)  # what was started meanwhile
        for process in filter(_alive, victims):
            _signal(process, number)
        _wait(victims, seconds)
    for pid in shells:
        if _stays_busy(pid):
            # The command is the shell's own, a loop that ignores Ctrl-C: the terminal tool replaces
            # a shell that is gone.
            _end_shell(pid)


def _end_shell(pid: int) -> None:
    with contextlib.suppress(psutil.Error):
        shell = psutil.Process(pid)
        below = shell.children(recursive=True)
        for process in [shell, *below]:
            _signal(process, signal.SIGKILL)
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


def shell_pids(conversation: Any) -> list[int]:
    """The shells of the conversation's terminals: tmux panes or the subprocess backend's shell."""
    pids: list[int] = []
    with contextlib.suppress(RuntimeError, AttributeError):
        for tool in conversation.agent.tools_map.values():
            executor = getattr(tool, "executor", None)
            pids += _pane_pids(executor) + _shell_pid(executor)
    return pids


def _pane_pids(executor: Any) -> list[int]:
    pool = getattr(executor, "_pool", None)
    pids = []
    for terminal in list(getattr(pool, "_all_panes", ())):
        with contextlib.suppress(Exception):
            pids.append(int(terminal.pane.pane_pid))
    return pids


def _shell_pid(executor: Any) -> list[int]:
    terminal = getattr(getattr(executor, "_session", None), "terminal", None)
    process = getattr(terminal, "process", None)
    return [process.pid] if process is not None else []


def _foreground(shells: list[int]) -> set[psutil.Process]:
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
