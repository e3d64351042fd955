"""Running git on repositories that nobody vouches for: no program, hook, filter or network of theirs."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from agentserver.environment import child_environment
from agentserver.errors import Problem

TIMEOUT_SECONDS = 30

# What a repository's own configuration may name is executed by git: reading must not run it.
_SAFE = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.quotePath": "false",
    "diff.external": "",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "protocol.allow": "never",
    # Workspaces often belong to another user than the server's; what that check guards against is off.
    "safe.directory": "*",
}


class GitFailed(Problem):
    code, sentence = "git_failed", "Git cannot do that in this repository."


class NoRepository(GitFailed):
    code, sentence = "no_repository", "The path is not in a git repository."


class NoSuchCommit(GitFailed):
    code, sentence = "no_such_commit", "The ref does not name a commit of this repository."


class GitMissing(Problem):
    status_code, code = 501, "git_missing"
    sentence = "Git is not installed on this machine."


def git(directory: Path, *arguments: str, ok: Sequence[int] = (0,), **options) -> bytes:
    """What ``git *arguments`` prints in ``directory``. Blocks; for a request's thread.

    ``options``: see ``run``. Raises NoRepository, GitFailed for an exit code that is not in ``ok``.
    """
    code, output = run(directory, *arguments, **options)
    if code not in ok:
        raise GitFailed()
    return output


def run(
    directory: Path,
    *arguments: str,
    into: BinaryIO | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT_SECONDS,
    config: Mapping[str, str] | None = None,
) -> tuple[int, bytes]:
    """Exit code and output of a git command; ``into``: a file that takes the output instead."""
    if any("\0" in argument for argument in arguments):
        raise GitFailed()
    options = [f"{name}={value}" for name, value in {**_SAFE, **(config or {})}.items()]
    configured = [part for option in options for part in ("-c", option)]
    command = ["git", "--no-pager", "--no-optional-locks", *configured, *arguments]
    process = _start(command, directory, into, {**_environment(), **(environment or {})})
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise GitFailed("Git took too long in this repository.") from None
    finally:
        _end(process)
    if process.returncode == 128 and b"not a git repository" in errors.lower():
        raise NoRepository()
    return process.returncode, output or b""


def _start(
    command: list[str], directory: Path, into: BinaryIO | None, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    if not directory.is_dir():
        raise NoRepository()
    try:
        return subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=into or subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise GitMissing() from None
    except (OSError, ValueError):
        raise GitFailed() from None


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in child_environment().items() if not name.startswith("GIT_")}
    return {
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def without_filters(directory: Path) -> dict[str, str]:
    """Configuration that turns off the filter programs which the repository itself defines.

    Those of the user's own configuration, such as git-lfs, stay.
    """
    pattern = r"^filter\..*\.(clean|smudge|process|required)$"
    names: set[str] = set()
    asked = ("--includes", "-z", "--name-only", "--get-regexp", pattern)
    for scope in ("--local", "--worktree"):
        code, output = run(directory, "config", scope, *asked)
        if code == 0:
            names.update(text(name) for name in output.split(b"\0") if name)
    drivers = {name.rpartition(".")[0] for name in names}
    off = {"clean": "", "smudge": "", "process": "", "required": "false"}
    return {f"{driver}.{key}": value for driver in drivers for key, value in off.items() if "=" not in driver}


def text(raw: bytes) -> str:
    """Git's bytes as text; what is not UTF-8 is replaced, so that JSON can hold it."""
    return raw.decode("utf-8", "replace")
