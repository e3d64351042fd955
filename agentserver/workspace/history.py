"""The commits of a repository, newest first."""

from dataclasses import dataclass
from pathlib import Path

from agentserver.workspace import bases
from agentserver.workspace.gitcommand import NoRepository, git, text

_FIELDS = "%H%x1f%h%x1f%an%x1f%aI%x1f%s"


@dataclass(frozen=True)
class Commit:
    """``timestamp``: ISO 8601 with the author's offset."""

    sha: str
    short_sha: str
    author: str
    timestamp: str
    subject: str


def commits(directory: Path, limit: int) -> tuple[list[Commit], bool]:
    """At most ``limit`` commits that HEAD leads to, and whether there are more. Raises GitFailed."""
    try:
        head = bases.resolve(directory, "HEAD")
    except NoRepository:
        head = None
    if head is None:
        return [], False
    output = git(
        directory, "log", "-z", "--no-show-signature", "--encoding=UTF-8", f"--format={_FIELDS}",
        f"--max-count={limit + 1}", head, "--",
    )  # fmt: skip
    records = [text(record).split("\x1f", 4) for record in output.split(b"\0") if record]
    found = [Commit(*record) for record in records if len(record) == 5]
    return found[:limit], len(found) > limit
