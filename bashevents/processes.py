"""Starting the process of a command, and ending all that came from it."""

import asyncio
import contextlib
import functools
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path

import psutil

from agentserver.environment import child_environment

GRACE_SECONDS = 1.0
"""Between SIGTERM, so that traps run, and SIGKILL."""
KILL_SECONDS = 3.0
"""How long the kernel may take to end what was killed."""
MARK = "AGENT_SERVER_COMMAND_ID"
"""Variable in the environment of every process of a command: finds those that left its session."""


@functools.cache
def _bash() -> str:
    found = shutil.which("bash")
    if found is None:
        raise FileNotFoundError("bash is not installed on this machine")
    return found


def spawn(*, command: str, cwd: str | None, command_id: str) -> subprocess.Popen[bytes]:
    """Start bash in a session of its own, stdin at end of file.

    Raises OSError or ValueError for what cannot be started: a missing directory, a command that
    is too long or holds a NUL.
    """
    return subprocess.Popen(
        [_bash(), "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd or None,
        env=child_environment() | {"AI_AGENT": "openhands", MARK: command_id},
        start_new_session=True,
        bufsize=0,
    )


async def end(leader: int, command_id: str) -> None:
    """SIGTERM to the whole group, a grace for traps, then SIGKILL until nothing is left.

    ``leader`` must not be reaped before: that keeps its number from meaning another process.
    """
    clock = asyncio.get_running_loop().time
    kill_at = clock() + GRACE_SECONDS
    strays = marked([command_id])
    _terminate(leader, _session(leader) | strays)
    pause = 0.005
    while clock() < kill_at and _living(_session(leader) | strays):
        await asyncio.sleep(pause)
        pause = min(pause * 2, 0.05)
    give_up_at = clock() + KILL_SECONDS
    while left := _living(_session(leader) | marked([command_id])):
        _signal(left, signal.SIGKILL)
        if clock() > give_up_at:
            return
        await asyncio.sleep(0.01)


def end_marked(command_ids: Iterable[str]) -> None:
    """SIGKILL for what a crashed server left behind."""
    _signal(_living(marked(command_ids)), signal.SIGKILL)


def _terminate(leader: int, pids: set[int]) -> None:
    """SIGTERM once for each: a trap that ran twice would not be what the command's author meant."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGTERM)
    _signal({pid for pid in pids if _group_of(pid) != leader}, signal.SIGTERM)


def _signal(pids: set[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def _session(leader: int) -> set[int]:
    """The processes of a session, of all its groups: job control gives each job its own."""
    return {pid for pid in psutil.pids() if _session_of(pid) == leader}


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def marked(command_ids: Iterable[str]) -> set[int]:
    """The processes that bear the mark of these commands, whatever session they are in."""
    marks = [f"{MARK}={command_id}".encode() for command_id in command_ids]
    return {pid for pid in psutil.pids() if pid != os.getpid() and _bears(pid, marks)}


def _bears(pid: int, marks: list[bytes]) -> bool:
    try:
        block = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # gone, another user's, or no Linux: then the session has to do
        return False
    return any(mark in block for mark in marks)


def _living(pids: set[int]) -> set[int]:
    """Without the zombies, which have ended and wait for their parent."""
    return {pid for pid in pids if _lives(pid)}


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
