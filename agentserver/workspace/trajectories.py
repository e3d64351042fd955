"""Conversations as a zip for people: state and events without secrets, made while it is sent."""

import time
import zipfile
from collections.abc import Generator
from typing import Any

from conversations import exchange
from conversations.masks import Masker
from conversations.models import Conversation


class Outlet:
    """A file that can only be written; ``take`` empties it."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, data: bytes) -> int:
        self._written += data
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        taken, self._written = bytes(self._written), bytearray()
        return taken


def zipped(*rows: Conversation) -> Generator[bytes]:
    """The pieces of ``<hex>/base_state.json, meta.json, events/event-NNNNN-ID.json``. Needs the SDK."""
    outlet: Any = Outlet()
    with zipfile.ZipFile(outlet, "w", zipfile.ZIP_DEFLATED) as archive:
        for row in rows:
            masker = Masker([row.base_state, row.request])
            for file in exchange.files(row):
                member = zipfile.ZipInfo(f"{row.id.hex}/{file.name}", time.localtime()[:6])
                member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
                archive.writestr(member, masker.masked(file.text))
                yield outlet.take()
    yield outlet.take()
