"""The one thread of this process that appends: group commit, and the caller waits.

The agent SDK persists on threads where Django's ORM refuses to run, many conversations at once.
Each hands its operation to this thread and waits. The thread takes all that is queued into one
transaction: durable before visible, one connection, no lock contention, fewer commits under load.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from django.db import InterfaceError, OperationalError, connection, transaction

from agentserver.observability import metrics

logger = logging.getLogger(__name__)

BATCH = 256
"""Operations in one transaction at the most; bounds what one commit makes others wait."""
OUTAGE_SECONDS = 60.0
"""How long writers wait for a PostgreSQL that is away, as while it restarts; then they are told."""
RETRY_SECONDS = 0.5
QUEUE = 10_000
"""Operations that may wait. Callers wait for their own, so this is far above what can come."""


class Closed(RuntimeError):
    """The writer has ended; nothing more is written by this process."""


class Operation:
    """What to do, whom to tell. ``run`` may be called twice: a failed batch is retried singly."""

    __slots__ = ("after", "future", "run")

    def __init__(self, run: Callable[[], Any], after: Callable[[Any], None] | None):
        self.run, self.after = run, after
        self.future: Future[Any] = Future()


class Writer:
    """See the module. ``call`` and ``submit`` may be used from any thread but its own."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Operation | None] = queue.Queue(QUEUE)
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._closed = threading.Event()
        self._started = False
        self._lock = threading.Lock()

    def start(self) -> None:
        with self._lock:
            if not self._started:
                self._started = True
                self._thread.start()

    def submit(self, run: Callable[[], Any], after: Callable[[Any], None] | None = None) -> Future[Any]:
        """Queue ``run``, which uses the ORM inside a transaction and may be repeated.

        ``after`` gets its result on the writer thread, once committed and before the future is
        resolved: in commit order, so rings keep the order of the rows.
        """
        if self._closed.is_set():
            raise Closed("The server is shutting down.")
        self.start()
        operation = Operation(run, after)
        self._queue.put(operation)
        return operation.future

    def call(self, run: Callable[[], Any], after: Callable[[Any], None] | None = None) -> Any:
        """``submit`` and wait: returns after commit, raises what ``run`` raised."""
        return self.submit(run, after).result()

    def waiting(self) -> int:
        """Operations that nobody has taken up."""
        return self._queue.qsize()

    def close(self, timeout: float = 10) -> None:
        """Write what is queued, then end."""
        if self._closed.is_set():
            return
        self._closed.set()
        if self._started:
            self._queue.put(None)
            self._thread.join(timeout)

    def _work(self) -> None:
        while True:
            batch, ended = self._take()
            if batch:
                self._write(batch)
            if ended:
                connection.close()
                return

    def _take(self) -> tuple[list[Operation], bool]:
        batch: list[Operation] = []
        item = self._queue.get()
        while item is not None:
            batch.append(item)
            if len(batch) == BATCH:
                return batch, False
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _write(self, batch: list[Operation]) -> None:
        """Commit ``batch``; while PostgreSQL is away, wait for it and try again."""
        deadline = time.monotonic() + OUTAGE_SECONDS
        while not self._written(batch, last=time.monotonic() > deadline):
            time.sleep(RETRY_SECONDS)

    def _written(self, batch: list[Operation], *, last: bool) -> bool:
        """Whether all who wait for ``batch`` have been told. ``last``: of a lost connection as well."""
        began = time.perf_counter()
        try:
            with transaction.atomic():
                results = [operation.run() for operation in batch]
        except Exception as error:
            if self._recover(error) and not last:
                return False
            if len(batch) == 1:
                metrics.WRITER_FAILURES.labels(type(error).__name__).inc()
                batch[0].future.set_exception(error)
            else:  # one item's error must not fail its neighbours
                for operation in batch:
                    self._write([operation])
            return True
        metrics.WRITER_SECONDS.observe(time.perf_counter() - began)
        metrics.WRITER_BATCH.observe(len(batch))
        for operation, result in zip(batch, results, strict=True):
            self._tell(operation, result)
        return True

    def _tell(self, operation: Operation, result: Any) -> None:
        if operation.after is not None:
            try:
                operation.after(result)
            except Exception:
                logger.exception("A notice after a commit failed")
        operation.future.set_result(result)

    def _recover(self, error: Exception) -> bool:
        """Whether the server of the database went away, so that trying again makes sense.

        A commit whose answer was lost may have been made: operations find out by their conditions.
        """
        if not isinstance(error, (OperationalError, InterfaceError)):
            return False
        lost = connection.connection is None or not connection.is_usable()
        connection.close()  # a broken connection is replaced by the next use
        return lost and connection.vendor == "postgresql"


_current: Writer | None = None
_current_lock = threading.Lock()


def current() -> Writer:
    """The writer of this process, made on first use."""
    global _current
    with _current_lock:
        if _current is None or _current._closed.is_set():
            _current = Writer()
            metrics.WRITER_QUEUE.set_function(_current.waiting)
        return _current
