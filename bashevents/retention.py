"""Pruning: old events go in batches so small that no writer waits for them, then their space.

Every batch is an operation of the writer thread, so that within the server it takes its turn with
all other writes. From another process, such as cron's, the pauses let the server's writes in.
"""

import datetime
import functools
import itertools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db import connection

from agentserver import writer
from agentserver.observability import metrics
from bashevents.models import BashEvent
from bashevents.querysets import BashEventQuerySet

logger = logging.getLogger(__name__)

BATCH = 1000
"""Rows of a batch unless told otherwise."""
BATCH_SIZE = 8 * 1024 * 1024
"""Characters of a batch."""
BATCH_SECONDS = 0.012
"""What a batch should take; it shrinks when it takes longer. A writer may meet several in a row."""
GROWTH = 1.2
"""At most, from one batch to the next: one of twice the size is met by SQLite's own copying of its log."""
FEWEST = 20
"""Rows of the first batch, and rows or pages of any that took too long."""
PAUSE = 2.0
"""Pause after a batch, in times of what it took."""
VACUUM_PAGES = 256
"""Pages given back at once: a MiB. Fewer where that takes long: SQLite looks among all that are free."""

_BEGINNING = (datetime.datetime.min.replace(tzinfo=datetime.UTC), 0)


@dataclass
class Pruning:
    """One pass over what is older than ``cutoff``. ``ended`` breaks it off after a batch."""

    cutoff: datetime.datetime
    batch_size: int = BATCH
    events: BashEventQuerySet = field(default_factory=BashEvent.objects.all)
    progress: Callable[[int], None] | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    deleted: int = 0

    def run(self) -> int:
        """Delete; how many events. Waits in between: for a thread that has nothing else to do."""
        position, rows = _BEGINNING, min(FEWEST, self.batch_size)
        while not self.ended.is_set():
            window = self._window(position, rows)
            if not window:
                break
            position = window[-1][:2]
            rows = _sized(rows, self._delete([number for _, number, _ in window]), self.batch_size)
        if self.deleted:
            self._give_back_space()
        return self.deleted

    def _window(
        self, position: tuple[datetime.datetime, int], rows: int
    ) -> list[tuple[datetime.datetime, int, int]]:
        """The next old events, prunable or not: what one look costs does not depend on how many are kept."""
        old = self.events.filter(timestamp__lt=self.cutoff).past(position, newest_first=False)
        window = list(old.in_order().values_list("timestamp", "id", "size")[:rows])
        sizes = itertools.accumulate(row[2] for row in window)
        return [row for row, size in zip(window, sizes, strict=True) if size <= BATCH_SIZE] or window[:1]

    def _delete(self, numbers: list[int]) -> float:
        prunable = BashEvent.objects.filter(id__in=numbers).prunable(self.cutoff)
        count, held = self._write(lambda: prunable.delete()[0])
        self.deleted += count
        metrics.BASH_PRUNED.inc(count)
        if self.progress is not None:
            self.progress(count)
        return held

    def _write(self, operation: Callable[[], int]) -> tuple[int, float]:
        """Do ``operation``, then leave the database to others for as long as it held it.

        What it returned, and for how many seconds it kept others from writing.
        """

        def timed() -> tuple[float, int]:
            return time.monotonic(), operation()

        began, result = writer.current().call(timed)
        held = time.monotonic() - began  # with the commit
        _copy_log()  # here, where nobody waits for it, before a commit of somebody else has to
        self.ended.wait(held * PAUSE)
        return result, held

    def _give_back_space(self) -> None:
        """Shorten the files of SQLite. PostgreSQL reuses the space itself (autovacuum)."""
        if connection.vendor != "sqlite":
            return
        free, pages = _free_pages(), VACUUM_PAGES
        while free and not self.ended.is_set():
            _, held = self._write(functools.partial(_vacuum_some, pages))
            pages = _sized(pages, held, VACUUM_PAGES)
            left = _free_pages()
            if left >= free:  # not an incremental database, or others fill it faster
                break
            free = left
        _shorten_log()


def _sized(count: int, held: float, most: int) -> int:
    """What the next batch takes, after one of ``count`` that took so many seconds."""
    wanted = int(count * min(BATCH_SECONDS / max(held, 0.001), GROWTH))
    return max(min(wanted, most), min(FEWEST, most))


def _free_pages() -> int:
    with connection.cursor() as cursor:
        return cursor.execute("PRAGMA freelist_count").fetchone()[0]


def _vacuum_some(pages: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()
    return pages


def _copy_log() -> None:
    """Copy SQLite's write-ahead log into the database, as far as readers let it, in nobody's way."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def _shorten_log() -> None:
    """Copy the write-ahead log and empty its file, unless a reader needs it."""
    _copy_log()  # most of the work
    with connection.cursor() as cursor:
        timeout = cursor.execute("PRAGMA busy_timeout").fetchone()[0]
        cursor.execute("PRAGMA busy_timeout=50").fetchall()  # writers wait while it waits for readers
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            cursor.execute(f"PRAGMA busy_timeout={timeout}").fetchall()


def interval(retention: float) -> float:
    """Seconds between two prunings by the server.

    The reference waits max(60, retention / 2); sooner is what a short retention asks for, and costs
    one look at an index.
    """
    return min(max(retention / 2, 1), 60)
