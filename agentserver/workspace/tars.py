"""A directory as tar.gz, made while it is sent: nothing is kept in memory or on disk."""

import io
import json
import os
import stat
import tarfile
import zlib
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from agentserver.errors import Problem
from agentserver.workspace import excludes, serving

PIECE = 256 * 1024
_GZIP = 31  # zlib's number for a stream in gzip form

# They may hold credentials, whatever else is wanted of .git.
_CREDENTIALS = {"config", "config.worktree", "credentials"}


def tar_gz(directory: Path, patterns: Sequence[str]) -> Generator[bytes]:
    """The pieces of the archive. Its last member, archive_manifest.json, says what it holds."""
    compressor = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
    for data in _tar(directory, patterns):
        yield compressor.compress(data)
    yield compressor.flush()


def _tar(directory: Path, patterns: Sequence[str]) -> Iterator[bytes]:
    count = total = 0
    for path in _walk(directory, patterns):
        info = _describe(path, directory)
        if info is None:
            continue
        if not info.isreg():
            yield _header(info)
            continue
        try:
            file = serving.open_file(path, directory)
        except Problem:  # gone or locked since it was listed
            continue
        with file:
            info.size = os.fstat(file.fileno()).st_size
            yield _header(info)
            yield from _content(file, info.size)
        count, total = count + 1, total + info.size
    yield from _manifest(directory, patterns, count, total)
    yield tarfile.NUL * (2 * tarfile.BLOCKSIZE)


def _walk(directory: Path, patterns: Sequence[str]) -> Iterator[Path]:
    yield directory
    for at, names, files in os.walk(directory):
        inner = Path(at)
        here = inner.relative_to(directory)
        names[:] = sorted(n for n in names if not _left_out(patterns, here / n, is_directory=True))
        for name in sorted([*names, *files]):
            if name in names or not _left_out(patterns, here / name, is_directory=False):
                yield inner / name


def _left_out(patterns: Sequence[str], path: Path, *, is_directory: bool) -> bool:
    if ".git" in path.parts[:-1] and path.name in _CREDENTIALS:
        return True
    return excludes.matches(patterns, path.as_posix(), is_directory=is_directory)


def _describe(path: Path, directory: Path) -> tarfile.TarInfo | None:
    """The member's header; None for what an archive does not carry: sockets, links that lead out."""
    try:
        status = path.lstat()
    except OSError:
        return None
    info = tarfile.TarInfo(str(Path(directory.name or "root") / path.relative_to(directory)))
    info.mode, info.mtime = stat.S_IMODE(status.st_mode), int(status.st_mtime)
    if stat.S_ISLNK(status.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, str(path.readlink())
        leads_in = Path(os.path.realpath(path)).is_relative_to(directory)
        return info if leads_in and not info.linkname.startswith("/") else None
    if stat.S_ISDIR(status.st_mode):
        info.type = tarfile.DIRTYPE
        return info
    return info if stat.S_ISREG(status.st_mode) else None


def _header(info: tarfile.TarInfo) -> bytes:
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _content(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Exactly ``size`` bytes and their padding, even if the file changes its length meanwhile."""
    left = size
    while left > 0:
        piece = file.read(min(PIECE, left)) or tarfile.NUL * min(PIECE, left)
        left -= len(piece)
        yield piece
    yield tarfile.NUL * (-size % tarfile.BLOCKSIZE)


def _manifest(directory: Path, patterns: Sequence[str], count: int, total: int) -> Iterator[bytes]:
    name = directory.name or "root"
    content = {
        "excludes": list(patterns),
        "file_count": count,
        "format": "tar.gz",
        "source": name,
        "total_bytes": total,
    }
    raw = json.dumps(content, indent=2).encode()
    info = tarfile.TarInfo(f"{name}/archive_manifest.json")
    info.size = len(raw)
    yield _header(info)
    yield from _content(io.BytesIO(raw), len(raw))
