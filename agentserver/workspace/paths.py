"""Paths that callers name: which are possible, and which lie inside a workspace once resolved."""

import contextlib
import errno
import os
from collections.abc import Generator
from pathlib import Path

from agentserver.errors import NoSpace, NotFound, Problem

LONGEST_NAME, LONGEST_PATH = 255, 4095
"""What Linux allows, in bytes."""


class BadPath(Problem):
    code, sentence = "bad_path", "The path cannot be used. Give an absolute path to a place that can exist."


class Relative(BadPath):
    sentence = "The path must be absolute."


class NotAFile(BadPath):
    sentence = "The path is not a regular file."


class NotADirectory(BadPath):
    sentence = "The path is not a directory."


class Outside(Problem):
    status_code, code = 422, "outside_workspace"
    sentence = "The path is not inside the conversation's workspace."


class Forbidden(Problem):
    status_code, code = 403, "forbidden"
    sentence = "The server has no permission for that path."


class Missing(NotFound):
    sentence = "There is nothing at that path."


def possible(text: str) -> Path:
    """``text`` as a path that the operating system could hold. Raises BadPath (400)."""
    try:
        raw = os.fsencode(text)
    except UnicodeEncodeError:
        raise BadPath() from None
    too_long = len(raw) > LONGEST_PATH or any(len(name) > LONGEST_NAME for name in raw.split(b"/"))
    if b"\0" in raw or too_long:
        raise BadPath()
    return Path(text)


def absolute(text: str) -> Path:
    """``text`` as an absolute path, unresolved. Raises BadPath (400)."""
    path = possible(text)
    if not path.is_absolute():
        raise Relative()
    return path


def inside(root: Path, text: str) -> Path:
    """``text`` as the absolute path it finally leads to, which lies in ``root``. Raises Outside (422)."""
    path = possible(text)
    if not path.is_absolute():
        raise Outside()
    return keep_inside(root, path)


def keep_inside(root: Path, path: Path) -> Path:
    """``path`` with every link and dot resolved, if that is in ``root``. Raises Outside."""
    final = Path(os.path.realpath(path))
    if not final.is_relative_to(os.path.realpath(root)):
        raise Outside()
    return final


_ANSWERS: dict[int, type[Problem]] = {
    errno.ENOENT: Missing,
    errno.EACCES: Forbidden,
    errno.EPERM: Forbidden,
    errno.EROFS: Forbidden,
    errno.ENOSPC: NoSpace,
    errno.EDQUOT: NoSpace,
}


@contextlib.contextmanager
def refusing(**answers: type[Problem]) -> Generator[None]:
    """Turn an OSError into an answer. ``answers``: problem by errno name, where it differs here."""
    try:
        yield
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, "")
        problem = answers.get(name) or _ANSWERS.get(error.errno or 0, BadPath)
        raise problem() from error
