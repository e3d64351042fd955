"""Which requests are about a disk, and whose."""

import re
import uuid
from dataclasses import dataclass

_UUID = r"([0-9a-fA-F]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
_ROWS = re.compile(
    r"/api/(?:conversations/[^/]+/)?(?:file/download-trajectory|git/repositories)/.*", re.DOTALL
)
"""Beside the files, but made of rows or of what other services say."""
_CONVERSATION = re.compile(rf"/api/conversations/{_UUID}/(?:file/|git/|bash/|workspace(?:/|\Z)).*", re.DOTALL)
_WHOLE = re.compile(rf"/api/conversations/{_UUID}/?")
_NEW = re.compile(r"/api/conversations/?")
_MACHINE = re.compile(r"/api/(?:file|git|bash)/.*", re.DOTALL)


@dataclass(frozen=True)
class Disk:
    """The one of a conversation; without one, that of the machine."""

    conversation_id: uuid.UUID | None = None
    new: bool = False  # of a conversation that is yet to be made


def disk_of(method: str, path: str) -> Disk | None:
    """The disk that a request is about; None if it is about none."""
    if _ROWS.fullmatch(path):
        return None
    if match := _CONVERSATION.fullmatch(path):
        return Disk(uuid.UUID(match[1]))
    if method == "DELETE" and (match := _WHOLE.fullmatch(path)):  # its worktree and its commands go with it
        return Disk(uuid.UUID(match[1]))
    if method == "POST" and _NEW.fullmatch(path):
        return Disk(new=True)
    return Disk() if _MACHINE.fullmatch(path) else None
