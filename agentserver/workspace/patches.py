"""The work in a repository as a patch on a commit that others have."""

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from agentserver.workspace import bases, excludes
from agentserver.workspace.gitcommand import NoRepository, git, run, text, without_filters

TIMEOUT_SECONDS = 120


@dataclass(frozen=True)
class Base:
    """What a patch builds on; ``name`` None for the empty tree."""

    name: str | None
    commit: str


def base_of(directory: Path, ref: str | None) -> Base:
    """The commit of ``ref``, else the newest one that was fetched. Raises NoRepository, NoSuchCommit."""
    if ref is not None:
        return Base(ref, bases.commit(directory, ref))
    return Base(*bases.exported(directory))


def patch(directory: Path, base: Base, patterns: Sequence[str]) -> BinaryIO:
    """An open, unnamed file with the patch: tracked and untracked work below ``directory``.

    The repository, its index included, stays untouched. Raises NoRepository, GitFailed.
    """
    with tempfile.TemporaryDirectory() as scratch:
        environment = _scratch_index(directory, Path(scratch))
        options = {"environment": environment, "timeout": TIMEOUT_SECONDS}
        wanted = [".", *excludes.pathspecs(patterns), *_nested_repositories(directory)]
        safe = without_filters(directory)
        git(directory, "add", "--all", "--ignore-errors", "--", *wanted, ok=(0, 1), config=safe, **options)
        return _diff(directory, base, wanted, options)


def _diff(directory: Path, base: Base, wanted: list[str], options: dict) -> BinaryIO:
    output = tempfile.TemporaryFile()  # noqa: SIM115 (the answer closes it)
    shape = ("--binary", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv")
    try:
        git(directory, "diff", "--cached", *shape, base.commit, "--", *wanted, into=output, **options)
    except BaseException:
        output.close()
        raise
    output.seek(0)
    return output


def _scratch_index(directory: Path, scratch: Path) -> dict[str, str]:
    """The environment in which git adds to a copy of the index, and writes objects elsewhere."""
    index, objects = (_git_path(directory, name) for name in ("index", "objects"))
    (scratch / "objects").mkdir()
    if index.exists():
        shutil.copyfile(index, scratch / "index")
    return {
        "GIT_INDEX_FILE": str(scratch / "index"),
        "GIT_OBJECT_DIRECTORY": str(scratch / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
    }


def _git_path(directory: Path, name: str) -> Path:
    raw = git(directory, "rev-parse", "--git-path", name).removesuffix(b"\n")
    return directory / os.fsdecode(raw)


def _nested_repositories(directory: Path) -> list[str]:
    """Pathspecs that leave out repositories inside: git cannot add one that has no commit."""
    untracked = git(directory, "ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
    return [f":(exclude,literal){os.fsdecode(path)}" for path in untracked if path.endswith(b"/")]


def headers(directory: Path, base: Base | None) -> dict[str, str]:
    """What the archive is of, percent-encoded; empty outside of a repository."""
    try:
        found = {"Repo-Root": os.fsdecode(git(directory, "rev-parse", "--show-toplevel").removesuffix(b"\n"))}
    except NoRepository:
        return {}
    found["Branch"] = bases.current_branch(directory) or "DETACHED"
    found["Head-Commit"] = bases.resolve(directory, "HEAD")
    found["Repo-Remote"] = _remote(directory)
    if base is not None and base.name is not None:
        found["Base-Ref"], found["Base-Commit"] = base.name, base.commit
    return {f"X-Archive-{name}": quote(os.fsencode(v), safe="") for name, v in found.items() if v}


def _remote(directory: Path) -> str | None:
    """The address of ``origin`` without user, password and query."""
    code, output = run(directory, "config", "--get", "remote.origin.url")
    if code != 0:
        return None
    return re.sub(r"//[^/@]*@", "//****@", text(output).strip()).partition("?")[0]
