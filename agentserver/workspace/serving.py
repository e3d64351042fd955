"""One file as an answer: whole or in part, cached by its ETag, streamed in bounded pieces."""

import os
import re
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import http_date

from agentserver import threads
from agentserver.workspace.paths import Missing, NotAFile, Outside, refusing

PIECE = 256 * 1024
"""Bytes in memory for each download."""


@dataclass(frozen=True)
class Part:
    """``length`` bytes from ``start``; ``asked``: as a range, if only of everything."""

    start: int
    length: int
    asked: bool = False


class FilePart:
    """Async iterator over a part of an open file, which it closes."""

    def __init__(self, file: BinaryIO, part: Part):
        self._file, self._part = file, part

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._file.seek(self._part.start)
        left = self._part.length
        while left > 0:
            piece = await threads.run_in(threads.files(), self._file.read, min(PIECE, left))
            if not piece:
                return  # the file has shrunk: the client sees fewer bytes than announced
            left -= len(piece)
            yield piece

    def close(self) -> None:
        self._file.close()


def open_file(path: Path, root: Path | None = None) -> BinaryIO:
    """A regular file, opened for reading; in ``root`` even if a link was swapped meanwhile.

    Raises Missing, NotAFile, Forbidden, Outside. Never waits for a FIFO's writer.
    """
    with refusing(ENOTDIR=Missing, ENXIO=NotAFile):
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check(handle, root)
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def _check(handle: int, root: Path | None) -> None:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise NotAFile()
    link = f"/proc/self/fd/{handle}"
    if root is not None and os.path.lexists(link):
        opened = Path(link).readlink()
        if not opened.is_relative_to(os.path.realpath(root)):
            raise Outside()


def answer(
    request: HttpRequest, file: BinaryIO, *, content_type: str, headers: dict[str, str] | None = None
) -> HttpResponseBase:
    """``file`` as GET and HEAD want it: 200, 206, 304, 412 or 416. Closes ``file`` in the end."""
    status = os.fstat(file.fileno())
    etag = f'"{status.st_mtime_ns:x}-{status.st_size:x}"'
    common = {
        "Content-Type": content_type,
        "Accept-Ranges": "bytes",
        "ETag": etag,
        "Last-Modified": http_date(status.st_mtime),
        **(headers or {}),
    }
    unchanged = get_conditional_response(
        request, etag, int(status.st_mtime), HttpResponse(headers={"ETag": etag})
    )
    if unchanged is not None and unchanged.status_code in (304, 412):
        file.close()
        return unchanged
    part = _wanted(request, status.st_size, etag, common["Last-Modified"])
    if part is None:
        file.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{status.st_size}"})
    return _send(request, file, part, status.st_size, common)


def _send(
    request: HttpRequest, file: BinaryIO, part: Part, size: int, headers: dict[str, str]
) -> HttpResponseBase:
    headers["Content-Length"] = str(part.length)
    if part.asked:
        headers["Content-Range"] = f"bytes {part.start}-{part.start + part.length - 1}/{size}"
    code = 206 if part.asked else 200
    if request.method != "HEAD" and part.length > PIECE:
        return StreamingHttpResponse(FilePart(file, part), status=code, headers=headers)
    with file:
        file.seek(part.start)
        body = b"" if request.method == "HEAD" else file.read(part.length)
    if request.method != "HEAD":
        headers["Content-Length"] = str(len(body))
    return HttpResponse(body, status=code, headers=headers)


_RANGE = re.compile(r"bytes=\s*(\d*)\s*-\s*(\d*)\s*")


def _wanted(request: HttpRequest, size: int, etag: str, modified: str) -> Part | None:
    """The part asked for; the whole where the question makes no sense; None beyond the end."""
    whole = Part(0, size)
    match = _RANGE.fullmatch(request.headers.get("Range", "")[:100])
    if match is None or match[0].count("-") != 1 or not (match[1] or match[2]):
        return whole  # several ranges are answered with the whole, as the RFC allows
    condition = request.headers.get("If-Range")
    if condition is not None and condition != etag and not _same_date(condition, modified):
        return whole
    if not match[1]:
        length = min(int(match[2]), size)
        return Part(size - length, length, asked=True) if length else None
    start, end = int(match[1]), int(match[2] or size)
    if end < start:
        return whole
    return Part(start, min(end + 1, size) - start, asked=True) if start < size else None


def _same_date(text: str, modified: str) -> bool:
    try:
        return parsedate_to_datetime(text) == parsedate_to_datetime(modified)
    except (TypeError, ValueError):
        return False


def attachment(name: str) -> dict[str, str]:
    """The header that makes a browser save the answer as ``name``."""
    if name.isascii() and name.isprintable() and not set(name) & {'"', "\\", "%"}:
        return {"Content-Disposition": f'attachment; filename="{name}"'}
    encoded = quote(os.fsencode(name), safe="")
    return {"Content-Disposition": f"attachment; filename*=utf-8''{encoded}"}
