"""Writing an upload: into a draft beside its target, which takes the target's place when complete."""

import os
import secrets
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from django.http.multipartparser import FILE, ChunkIter, LazyStream, MultiPartParserError, Parser

from agentserver.errors import invalid
from agentserver.workspace.paths import BadPath, NotAFile, refusing

PIECE = 256 * 1024


def receive(*, body: Any, boundary: bytes, target: Path) -> int:
    """Write the form field ``file`` of a multipart ``body`` to ``target``; returns its size in bytes.

    ``target`` keeps its mode, a link is followed, missing directories are made. Nothing is left behind
    by a body that breaks off. Raises Invalid without such a field, BadPath, Forbidden, NoSpace.
    """
    target = Path(os.path.realpath(target))
    try:
        parts = Parser(LazyStream(ChunkIter(body, PIECE)), boundary)
        return _write_file_part(iter(parts), target)
    except MultiPartParserError:
        raise invalid(["body"], "The body is not a multipart form.") from None


def _write_file_part(parts: Iterator[Any], target: Path) -> int:
    for kind, headers, content in parts:
        if kind != FILE or _field_name(headers) != "file":
            for _ in content:
                pass
            continue
        with draft_of(target) as draft:
            for piece in content:
                draft.write(piece)
            size = draft.tell()
            if next(parts, None) is None:
                raise invalid(["body"], "The body ends in the middle of the file.")
        return size
    raise invalid(["body", "file"], "Field required", "missing")


def _field_name(headers: dict[str, Any]) -> str | None:
    try:
        name = headers["content-disposition"][1]["name"]
    except (KeyError, IndexError, TypeError):
        return None
    return name.decode("latin-1") if isinstance(name, bytes) else name.strip()


@contextmanager
def draft_of(target: Path) -> Generator[BinaryIO]:
    """A new file that becomes ``target`` when the block ends well, and is gone when it does not."""
    mode = _present_mode(target)
    made = _make_parents(target.parent)
    draft = target.with_name(f".upload-{secrets.token_hex(8)}")
    try:
        with refusing(ENOENT=BadPath, EISDIR=NotAFile), draft.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            yield file
            file.flush()
            draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        _remove(made)
        raise


def _present_mode(target: Path) -> int | None:
    """The mode of what ``target`` replaces. Raises NotAFile for a directory, FIFO, socket or device."""
    with refusing(ENOTDIR=BadPath):
        try:
            status = target.stat()
        except FileNotFoundError:
            return None
    if not target.is_file():
        raise NotAFile()
    return status.st_mode & 0o7777


def _make_parents(directory: Path) -> list[Path]:
    """Make ``directory`` and what it needs; returns what was made, innermost first."""
    missing = []
    with refusing(EEXIST=BadPath, ENOTDIR=BadPath):
        while not directory.exists():
            missing.append(directory)
            directory = directory.parent
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
    return missing


def _remove(directories: list[Path]) -> None:
    with suppress(OSError):  # not empty: somebody else uses it by now
        for path in directories:
            path.rmdir()
