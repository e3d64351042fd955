"""What ``execute`` answers: the output as it was written, kept apart from the rows.

Rows may be deleted while the command runs, so the answer is not read from them. Output of more
than one chunk is spooled to an unnamed temporary file: memory stays bounded while it runs.
"""

import contextlib
import datetime
import logging
import tempfile
import uuid
from collections.abc import Sequence
from concurrent.futures import Future
from typing import IO

import orjson

from bashevents.journal import Chunk
from bashevents.serializers import new_id, output_payload

logger = logging.getLogger(__name__)

IN_MEMORY = 4 * 1024 * 1024
"""Bytes of a stream kept in memory; beyond, in the file."""
ANSWERED = 256 * 1024 * 1024
"""Characters of a stream that an answer holds at the most. All of it is found by search."""


class Spool:
    """The text of one stream, as far as an answer will hold it."""

    def __init__(self) -> None:
        # Closed by ``take``, or with this object when nobody takes.
        self._file: IO[str] = tempfile.SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8", newline="")  # noqa: SIM115
        self._room = ANSWERED

    def add(self, text: str) -> None:
        self._file.write(text[: self._room])
        self._room -= min(len(text), self._room)

    def take(self) -> str:
        self._file.seek(0)
        with self._file:
            return self._file.read()


class Result:
    """``add`` and ``settle`` are called on the runner's loop, ``written`` on the writer thread."""

    def __init__(self, command_id: uuid.UUID, *, joined: bool) -> None:
        """``joined``: whether somebody will ask for the whole output with ``payload``."""
        self._command_id = command_id
        self._joined = joined
        self._spools: tuple[Spool, Spool] | None = None
        self._last: Chunk | None = None
        self._last_payload: str | None = None
        self._done: Future[None] = Future()

    def add(self, chunks: Sequence[Chunk]) -> None:
        """Take note of the next chunks, in order."""
        for chunk in chunks:
            if chunk.exit_code is not None:
                self._last = chunk
            elif self._joined:
                self._spool(chunk)

    def _spool(self, chunk: Chunk) -> None:
        self._spools = self._spools or (Spool(), Spool())
        for spool, text in zip(self._spools, (chunk.stdout, chunk.stderr), strict=True):
            try:
                spool.add(text)
            except OSError as error:  # no space for the file: the rows have it all
                self._joined = False
                logger.error("The answer of bash command %s is cut short: %s", self._command_id, error)  # noqa: TRY400

    def written(self, payload: str) -> None:
        """The last chunk is committed, as ``payload``."""
        self._last_payload = payload
        self.settle()

    def settle(self) -> None:
        """It is over, even if the last chunk could not be written."""
        if not self._done.done():
            self._done.set_result(None)

    def wait(self, seconds: float) -> None:
        """Until it is over, at most so long."""
        with contextlib.suppress(TimeoutError):
            self._done.result(seconds)

    def payload(self) -> str:
        """One BashOutput with all of the output, as JSON. Waits for the end of the command; call once."""
        self._done.result()
        last = self._last or Chunk(0, "", "", -1)
        payload = self._last_payload or output_payload(
            new_id(), datetime.datetime.now(datetime.UTC), last.content(self._command_id)
        )
        if self._spools is None:
            return payload
        stdout, stderr = self._spools
        stdout.add(last.stdout)
        stderr.add(last.stderr)
        whole = {"stdout": stdout.take() or None, "stderr": stderr.take() or None}
        return orjson.dumps(orjson.loads(payload) | whole).decode()
