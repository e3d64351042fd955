"""One file before and after: at two commits, or at a commit and on disk."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from agentserver.workspace import bases
from agentserver.workspace.gitcommand import GitFailed, NoRepository, git, text
from agentserver.workspace.paths import refusing

LARGEST = 1024 * 1024
"""Bytes of a file that is shown."""


class TooLargeToShow(GitFailed):
    code, sentence = "too_large_to_show", "The file is too large to be shown as a diff: more than 1 MiB."


class NotThere(GitFailed):
    code, sentence = "not_there", "The file exists neither on disk nor in the repository."


class NotText(GitFailed):
    code, sentence = "not_a_file", "The path is not a file."


@dataclass(frozen=True)
class Diff:
    """Text before and after; both None outside of a repository, "" for what is absent or binary."""

    original: str | None
    modified: str | None


def of_file(path: Path, ref: str | None) -> Diff:
    """``path`` as it was where the work began (or at ``ref``), and as it is on disk.

    Raises NotThere, NotText, TooLargeToShow, NoSuchCommit.
    """
    path = _place(path)
    on_disk = _read(path)
    try:
        root, name = _locate(path)
    except NoRepository:
        if on_disk is None:
            raise NotThere() from None
        return Diff(None, None)
    before = _blob(root, bases.shown(_nearest_directory(path), ref), name)
    if on_disk is None and before is None:
        raise NotThere()
    return Diff(_as_text(before), _as_text(on_disk))


def of_commit(path: Path, sha: str) -> Diff:
    """``path`` before and after one commit, not looking at the disk. Raises NoSuchCommit, TooLargeToShow."""
    path = _place(path)
    try:
        root, name = _locate(path)
    except NoRepository:
        return Diff(None, None)
    resolved = bases.commit(root, sha)
    before = _blob(root, bases.parent(root, resolved), name)
    return Diff(_as_text(before), _as_text(_blob(root, resolved, name)))


def _place(path: Path) -> Path:
    """``path`` with its directory resolved; a link itself is what the repository holds."""
    return Path(os.path.realpath(path.parent)) / path.name


def _nearest_directory(path: Path) -> Path:
    """The innermost directory above ``path`` that exists: a deleted file's may be gone too."""
    return next((parent for parent in path.parents if parent.is_dir()), Path("/"))


def _locate(path: Path) -> tuple[Path, str]:
    """The repository of ``path``, and the name it has there. Raises NoRepository."""
    top = git(_nearest_directory(path), "rev-parse", "--show-toplevel").removesuffix(b"\n")
    root = Path(os.fsdecode(top))
    if not path.is_relative_to(root):
        raise NoRepository()
    return root, path.relative_to(root).as_posix()


def _read(path: Path) -> bytes | None:
    """The file's bytes, or a link's target; None if it is not there."""
    with refusing(ENOENT=NotThere):
        try:
            status = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(path.readlink())
        if not stat.S_ISREG(status.st_mode):
            raise NotText()
        _check_size(status.st_size)
        return path.read_bytes()


def _blob(root: Path, tree: str, name: str) -> bytes | None:
    """The content of ``name`` in ``tree``; None if there is no such file."""
    listed = git(root, "--literal-pathspecs", "ls-tree", "-z", "-l", tree, "--", name)
    if not listed:
        return None
    _, kind, sha, size = text(listed.split(b"\t", 1)[0]).split()
    if kind != "blob":
        return None
    _check_size(int(size))
    return git(root, "cat-file", "blob", sha)


def _check_size(size: int) -> None:
    if size > LARGEST:
        raise TooLargeToShow()


def _as_text(raw: bytes | None) -> str:
    """Lines joined by a plain newline, without the last one; "" for what is binary."""
    if raw is None or b"\0" in raw:
        return ""
    return text(raw).replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
