"""The static site that a workspace is: which file a URL names, and of what type it is."""

import mimetypes
from pathlib import Path
from typing import BinaryIO

from agentserver.workspace import paths, serving
from agentserver.workspace.paths import BadPath, Missing, Outside

INDEX = "index.html"
_types = mimetypes.MimeTypes()  # without the machine's own list: the same everywhere
_ENCODINGS = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


class Escapes(BadPath):
    sentence = "The path leads out of the workspace."


def open_page(root: Path, name: str) -> tuple[BinaryIO, str]:
    """The file for ``name`` below ``root`` (a directory's index page) and its content type.

    Raises Missing (404), Escapes (400): decided on where the path finally leads.
    """
    try:
        path = _find(root, name)
        return serving.open_file(path, root), content_type(path.name)
    except Outside:
        raise Escapes() from None
    except paths.NotAFile:
        raise Missing() from None


def _find(root: Path, name: str) -> Path:
    path = paths.possible(name)
    if path.is_absolute():
        raise Escapes()
    final = paths.keep_inside(root, root / path)
    if final.is_dir():
        final = paths.keep_inside(root, final / INDEX)
    return final


def content_type(name: str) -> str:
    """The media type that belongs to a file name; text is UTF-8."""
    kind, encoding = _types.guess_type(name)
    if encoding:
        return _ENCODINGS.get(encoding, "application/octet-stream")
    if kind is None:
        return "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
