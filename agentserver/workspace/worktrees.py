"""A conversation's own git worktree: made when it starts, removed with it."""

import os
import shutil
import tempfile
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentserver.workspace import bases
from agentserver.workspace.gitcommand import GitFailed, NoRepository, git, run, text

ROOT = Path(tempfile.gettempdir()) / "conversation-worktrees"
"""Worktrees are ROOT/<conversation id>/<name of the repository>."""

FETCH_SECONDS, CHECKOUT_SECONDS = 60, 300


class CannotBranch(GitFailed):
    code, sentence = "no_worktree", "Git cannot make a worktree for this conversation from that repository."


@dataclass(frozen=True)
class Worktree:
    """``directory`` takes the place of the one that was asked for; ``branch`` is checked out in ``top``."""

    repository: Path
    top: Path
    directory: Path
    branch: str


def create(*, directory: Path, conversation_id: uuid.UUID, options: Any = None) -> Worktree | None:
    """A worktree with its own branch for the repository around ``directory``; None if there is none.

    ``options``: the SDK's ConversationWorktreeOptions or None. Blocks, with base ``default_branch`` as
    long as a fetch takes (a minute at most; without network the branch as last fetched is used).
    Raises CannotBranch, NoSuchCommit (400).
    """
    try:
        repository = _top(directory)
    except NoRepository:
        return None
    prefix = getattr(options, "branch_prefix", "openhands/")
    start = _start(repository, getattr(options, "base", "default_branch"), getattr(options, "ref", None))
    branch = f"{prefix}{conversation_id}"
    top = ROOT / str(conversation_id) / repository.name
    top.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = ("worktree", "add", "--quiet", "-b", branch, str(top), start)
    code, _ = run(repository, *made, timeout=CHECKOUT_SECONDS)
    if code != 0:
        _remove_directory(top)
        raise CannotBranch()
    inner = Path(os.path.realpath(directory)).relative_to(repository)
    (top / inner).mkdir(parents=True, exist_ok=True)
    return Worktree(repository, top, top / inner, branch)


def remove(*, conversation_id: uuid.UUID) -> None:
    """Remove the worktrees of a conversation and their branches, with what was not committed.

    Nothing happens if there are none; a repository that has gone does not matter.
    """
    home = ROOT / str(conversation_id)
    if not home.is_dir():
        return
    for top in home.iterdir():
        _remove_from_repository(top, str(conversation_id))
    shutil.rmtree(home, ignore_errors=True)


def _top(directory: Path) -> Path:
    """The repository around ``directory``. Raises NoRepository; also without any commit to branch from."""
    top = Path(os.fsdecode(git(directory, "rev-parse", "--show-toplevel").removesuffix(b"\n")))
    if bases.resolve(top, "HEAD") is None:
        raise NoRepository()
    return top


def _start(repository: Path, base: str, ref: str | None) -> str:
    if base == "ref" and ref is not None:
        return bases.resolve(repository, f"refs/remotes/origin/{ref}") or bases.commit(repository, ref)
    if base == "default_branch" and (name := bases.default_branch(repository)):
        _fetch(repository, name)
        if found := bases.resolve(repository, f"refs/remotes/origin/{name}"):
            return found
    main = bases.local_main(repository) if base == "default_branch" else None
    return bases.commit(repository, f"refs/heads/{main}" if main else "HEAD")


def _fetch(repository: Path, branch: str) -> None:
    """Bring ``branch`` of origin up to date, if the network allows it."""
    refs = f"+refs/heads/{branch}:refs/remotes/origin/{branch}"
    asked = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "origin", refs)
    network = {"GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh"}
    with suppress(GitFailed):  # too slow: what was fetched before is good enough
        run(repository, *asked, environment=network, timeout=FETCH_SECONDS)


def _remove_from_repository(top: Path, conversation_id: str) -> None:
    try:
        common = git(top, "rev-parse", "--path-format=absolute", "--git-common-dir").removesuffix(b"\n")
        branch = bases.current_branch(top)
    except GitFailed:
        return
    repository = Path(os.fsdecode(common))
    _remove_directory(top)
    run(repository, "worktree", "prune")
    names = git(repository, "for-each-ref", "--format=%(refname:short)", "refs/heads", ok=(0, 1, 128))
    own = {name for name in text(names).split() if name.endswith(conversation_id)}
    for name in own | ({branch} if branch and branch.endswith(conversation_id) else set()):
        run(repository, "branch", "--quiet", "-D", name)


def _remove_directory(top: Path) -> None:
    shutil.rmtree(top, ignore_errors=True)
