"""Directories of this machine: making, browsing, starting points."""

import bisect
import os
from dataclasses import dataclass
from pathlib import Path

from agentserver.workspace.paths import BadPath, NotADirectory, refusing

MOST_FAVORITES = 200


@dataclass(frozen=True)
class Page:
    """Names of one page and the name to go on with, if there is more."""

    names: list[str]
    next_name: str | None


def create_directory(path: Path) -> None:
    """Make ``path`` with its parents; nothing if it is there. Raises BadPath, Forbidden, NoSpace."""
    with refusing(EEXIST=NotADirectory, ENOTDIR=NotADirectory, ENOENT=BadPath):
        path.mkdir(parents=True, exist_ok=True)


def subdirectories(*, path: Path, include_hidden: bool, limit: int, start: str | None) -> Page:
    """Names of the directories in ``path``, a page from ``start`` on, which need not exist any more."""
    names = sorted(_directories(path, include_hidden), key=_order)
    first = bisect.bisect_left(names, _order(start), key=_order) if start else 0
    page = names[first : first + limit]
    more = first + limit < len(names)
    return Page(page, names[first + limit] if more else None)


def home(*, include_hidden: bool) -> tuple[str, list[str]]:
    """The user's home and the names of its directories."""
    path = Path.home()
    try:
        names = _directories(path, include_hidden)
    except Exception:  # a home that cannot be read has nothing to offer
        names = []
    return str(path), sorted(names, key=_order)[:MOST_FAVORITES]


def _directories(path: Path, include_hidden: bool) -> list[str]:
    with refusing(ENOTDIR=NotADirectory), os.scandir(path) as entries:
        return [e.name for e in entries if _shown(e, include_hidden)]


def _shown(entry: os.DirEntry[str], include_hidden: bool) -> bool:
    if entry.name.startswith(".") and not include_hidden:
        return False
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _order(name: str) -> tuple[str, str]:
    """By letters first, so that a and A are neighbours; then exactly, so that a cursor is one place."""
    return name.casefold(), name
