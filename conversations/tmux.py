"""The tmux servers that the agents' terminals live in: private to this process, reaped after a crash.

Each process has a directory of its own, named by its pid, under one that is named by the data
directory. tmux puts its socket there; a socket's path may have 107 characters, so it is in the
system's temporary directory and not in the data directory.
"""

import contextlib
import hashlib
import logging
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import psutil

from agentserver import conf

logger = logging.getLogger(__name__)

KILL_SECONDS = 2.0


def home() -> Path:
    """The directory of all processes on this data directory."""
    name = hashlib.sha256(str(conf.current().persistence_dir.resolve()).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"agentserver-{os.getuid()}-{name}"


def use_private_directory() -> None:
    """Let the terminals of this process use tmux servers of their own.

    Raises PermissionError where somebody else was there first: everybody may write to the parent, and whoever
    owns a socket's directory can put a server of theirs in its place.
    """
    home().mkdir(mode=0o700, exist_ok=True)
    found = home().lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(f"{home()} belongs to somebody else. Remove it, or set TMPDIR.")
    mine = home() / str(os.getpid())
    mine.mkdir(mode=0o700, exist_ok=True)
    os.environ["TMUX_TMPDIR"] = str(mine)


def reap() -> int:
    """End the terminals of processes that are gone, with all that runs in them; how many there were."""
    reaped = 0
    for directory in home().glob("*") if home().exists() else ():
        if directory.name.isdigit() and not _alive(int(directory.name)):
            for socket in directory.glob("tmux-*/*"):
                _end_server(socket)
                reaped += 1
            shutil.rmtree(directory, ignore_errors=True)
    if reaped:
        logger.warning("Ended %d terminal servers that a dead process had left", reaped)
    return reaped


def clean_up() -> None:
    """At shutdown: the terminals are closed, the directory goes."""
    mine = home() / str(os.getpid())
    for socket in mine.glob("tmux-*/*"):
        _end_server(socket)
    shutil.rmtree(mine, ignore_errors=True)
    with contextlib.suppress(OSError):  # another process on this data directory has it
        home().rmdir()


def _alive(pid: int) -> bool:
    with contextlib.suppress(psutil.Error):
        return any("manage.py" in word or "agentserver" in word for word in psutil.Process(pid).cmdline())
    return False


def _end_server(socket: Path) -> None:
    if shutil.which("tmux") is None:
        return
    with contextlib.suppress(OSError, ValueError, psutil.Error, subprocess.SubprocessError):
        asked = subprocess.run(
            ["tmux", "-S", str(socket), "display-message", "-p", "#{pid}"],
            check=False, capture_output=True, text=True, timeout=KILL_SECONDS,
        )  # fmt: skip
        processes = psutil.Process(int(asked.stdout)).children(recursive=True)
        subprocess.run(
            ["tmux", "-S", str(socket), "kill-server"], check=False, capture_output=True, timeout=KILL_SECONDS
        )
        _, left = psutil.wait_procs(processes, timeout=0.2)
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
