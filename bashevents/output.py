"""From the bytes of two pipes to numbered chunks of text."""

import codecs
from collections.abc import Iterator

from bashevents.journal import Chunk

CHUNK = 1024 * 1024
"""Characters of a chunk at the most, both streams together."""


class Stream:
    """The text of one pipe that no chunk holds yet. Bytes that are no UTF-8 become U+FFFD."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._pieces: list[str] = []
        self.length = 0

    def feed(self, data: bytes, *, final: bool = False) -> None:
        """A character that the end of ``data`` cuts waits for its other bytes."""
        if text := self._decode(data, final):
            self._pieces.append(text)
            self.length += len(text)

    def take(self, limit: int) -> str:
        text = "".join(self._pieces)
        self._pieces = [text[limit:]] if len(text) > limit else []
        self.length = max(len(text) - limit, 0)
        return text[:limit]


class Chunker:
    """Both streams of a command, cut into chunks with the orders 0, 1, 2 ..."""

    def __init__(self) -> None:
        self.stdout, self.stderr = Stream(), Stream()
        self._order = 0

    @property
    def waiting(self) -> int:
        """Characters that no chunk holds yet."""
        return self.stdout.length + self.stderr.length

    def full(self) -> Iterator[Chunk]:
        """The chunks that are full."""
        while self.waiting > CHUNK:
            yield self._cut()

    def rest(self) -> Iterator[Chunk]:
        """What waits, so that it is seen while the command runs."""
        yield from self.full()
        if self.waiting:
            yield self._cut()

    def last(self, exit_code: int) -> Iterator[Chunk]:
        """What is left; the last chunk has the exit code, and may be empty."""
        for stream in (self.stdout, self.stderr):
            stream.feed(b"", final=True)
        yield from self.full()
        yield self._cut(exit_code)

    def _cut(self, exit_code: int | None = None) -> Chunk:
        stdout = self.stdout.take(CHUNK)
        chunk = Chunk(self._order, stdout, self.stderr.take(CHUNK - len(stdout)), exit_code)
        self._order += 1
        return chunk
