"""Which files of a repository are new, different or gone."""

import os
from pathlib import Path

from agentserver.workspace import bases
from agentserver.workspace.gitcommand import GitFailed, NoRepository, git, text, without_filters

Changes = dict[str, str]
"""Status by path: ADDED, UPDATED or DELETED."""

_STATUS = {"A": "ADDED", "D": "DELETED", "C": "ADDED"}


def of_directory(directory: Path, ref: str | None) -> Changes:
    """The changes below ``directory``, its own and those of repositories directly below it.

    Paths are relative to ``directory``. Nothing where there is no repository.
    Raises NoSuchCommit, GitFailed.
    """
    nested = _repositories_below(directory)
    try:
        found = _of_repository(directory, ref)
    except NoRepository:
        found = {}
    changes = {path: status for path, status in found.items() if path.split("/")[0] not in nested}
    for name in nested:
        changes.update(_of_nested(directory / name, name, ref))
    return dict(sorted(changes.items()))


def of_commit(directory: Path, sha: str) -> Changes:
    """What one commit changed against its first parent. Nothing without a repository. Raises NoSuchCommit."""
    try:
        resolved = bases.commit(directory, sha)
        before = bases.parent(directory, resolved)
        output = git(directory, "diff-tree", "-r", "-z", "--no-renames", "--name-status", before, resolved)
    except NoRepository:
        return {}
    return dict(sorted(_parse(output).items()))


def _of_nested(directory: Path, name: str, ref: str | None) -> Changes:
    try:
        return {f"{name}/{path}": status for path, status in _of_repository(directory, ref).items()}
    except GitFailed:  # a broken one below does not hide the others
        return {}


def _of_repository(directory: Path, ref: str | None) -> Changes:
    config = without_filters(directory)
    base = bases.shown(directory, ref)
    # --ignore-submodules=dirty: git would run a status inside each, with that one's own programs.
    safe = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
    changed = git(
        directory,
        "diff",
        "-z",
        "--no-renames",
        "--name-status",
        "--relative",
        *safe,
        base,
        "--",
        config=config,
    )
    changes = _parse(changed)
    untracked = git(directory, "ls-files", "-z", "--others", "--exclude-standard")
    for listed in _split(untracked):
        path = listed.rstrip("/")  # a repository inside is listed as a directory
        changes[path] = "UPDATED" if path in changes else "ADDED"
    return changes


def _parse(output: bytes) -> Changes:
    """``status NUL path NUL ...``. A file with conflicts is listed twice and means UPDATED."""
    fields = _split(output)
    pairs = zip(fields[::2], fields[1::2], strict=True)
    return {path: _STATUS.get(status[:1], "UPDATED") for status, path in pairs}


def _split(output: bytes) -> list[str]:
    return [text(field) for field in output.split(b"\0") if field]


def _repositories_below(directory: Path) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return sorted(e.name for e in entries if e.is_dir() and (directory / e.name / ".git").exists())
    except OSError:
        return []
