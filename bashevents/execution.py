"""One command from its start to the end of the last process that came from it.

All of it happens on the runner's loop. The command is over for its clients when its last chunk is
written; what it left in the background and still holds its pipes is watched until the time limit.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import signal
import struct
import subprocess
import termios
import threading
from concurrent.futures import Future

from agentserver.causes import is_database_trouble
from agentserver.observability import metrics
from bashevents import journal, processes
from bashevents.journal import Chunk, Order
from bashevents.output import Chunker, Stream
from bashevents.result import Result

logger = logging.getLogger(__name__)

READ = 64 * 1024
"""Bytes read at once: what a pipe holds."""
LIVE_SECONDS = 0.18
"""Output waits this long for more before it is shown; with the commit less than 0.2 s."""
SETTLE_SECONDS = 0.15
"""How long, after the shell has gone, others may finish what they write to its pipes."""
UNWRITTEN = 8 * 1024 * 1024
"""Characters that wait to be written, above which nothing more is read: the program waits."""
LONGEST_SECONDS = 10 * 365 * 86_400
WRITE_PAUSES = (0.5, 2, 8)
"""Seconds between tries when rows cannot be written, for a reason that may be theirs."""
TROUBLE_PAUSE = 1.0
"""The same while the disk is full or the database away: these tries do not end."""


class Execution:
    """See the module. ``result`` may be waited for on any thread; the rest is for the loop."""

    def __init__(self, order: Order, *, joined: bool) -> None:
        self.order = order
        self.result = Result(order.id, joined=joined)
        self._chunker = Chunker()
        self._unwritten: list[Chunk] = []
        self._unwritten_size = 0
        self._writing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._pipes: dict[int, Stream] = {}
        self._paused = False
        self._changed = asyncio.Event()
        self._leader_gone = False
        self.stopping = False
        self.process: subprocess.Popen[bytes] | None = None

    # What the runner calls, on its loop

    def stop(self) -> None:
        """End it, whether it has yet to start, runs, or has left something behind."""
        self.stopping = True
        self._changed.set()

    async def run(self) -> None:
        """Returns when nothing of the command is left that has to be watched. Never raises."""
        metrics.BASH_STARTED.inc()
        self._loop = asyncio.get_running_loop()
        self._ends_at = self._loop.time() + min(self.order.body.timeout, LONGEST_SECONDS)
        try:
            exit_code = await self._execute()
        except Exception:
            logger.exception("A bash command failed in the server")
            exit_code = -1
        metrics.BASH_ENDED.labels(_outcome(exit_code)).inc()
        await self._conclude(exit_code)
        if self.process is not None:
            await self._tidy(self.process)

    # From start to exit code

    async def _execute(self) -> int:
        if self.stopping:
            return -signal.SIGTERM
        if self.order.body.timeout <= 0:
            return -1
        try:
            self.process = process = processes.spawn(
                command=self.order.body.command, cwd=self.order.body.cwd, command_id=self.order.id.hex
            )
        except (OSError, ValueError) as error:
            self._chunker.stderr.feed(f"Error executing command: {error}".encode(errors="replace"))
            return -1
        with self._watching(process):
            await self._until(lambda: self._leader_gone or self.stopping, self._ends_at)
            timed_out = not self._leader_gone and not self.stopping
            if not self._leader_gone:
                await processes.end(process.pid, self.order.id.hex)
            # What the shell started and does not wait for, such as >(tee log), may be writing.
            await self._until(lambda: not self._pipes or self.stopping, self._loop.time() + SETTLE_SECONDS)
        self._drain()
        return -1 if timed_out else _exit_code(process.pid)

    @contextlib.contextmanager
    def _watching(self, process: subprocess.Popen[bytes]):
        """Read its pipes, and notice its end, without reaping it: its number stays its own."""
        self._watch_pipe(process.stdout, self._chunker.stdout)
        self._watch_pipe(process.stderr, self._chunker.stderr)
        handle = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
        if handle is None:
            threading.Thread(
                target=self._wait_for_exit, args=(process.pid,), name="bash-wait", daemon=True
            ).start()
        else:
            self._loop.add_reader(handle, self._leader_has_gone, handle)
        try:
            yield
        finally:
            if handle is not None:
                self._loop.remove_reader(handle)
                os.close(handle)

    def _wait_for_exit(self, pid: int) -> None:
        """On a thread of its own, where the system cannot tell a loop of the end of a process."""
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._leader_has_gone)

    def _leader_has_gone(self, handle: int | None = None) -> None:
        if handle is not None:
            self._loop.remove_reader(handle)
        self._leader_gone = True
        self._changed.set()

    async def _until(self, reached, moment: float) -> None:
        """Until ``reached()`` or the loop's time is ``moment``."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(moment):
                while not reached():
                    self._changed.clear()
                    await self._changed.wait()

    # Reading

    def _watch_pipe(self, pipe, stream: Stream) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipes[pipe.fileno()] = stream
        self._loop.add_reader(pipe.fileno(), self._read, pipe.fileno())

    def _read(self, handle: int) -> None:
        try:
            data = os.read(handle, READ)
        except BlockingIOError:
            return
        if data:
            self._take_in(self._pipes[handle], data)
        else:
            self._close_pipe(handle)

    def _take_in(self, stream: Stream, data: bytes) -> None:
        stream.feed(data)
        if self._timer is None:
            self._timer = self._loop.call_later(LIVE_SECONDS, self._show)
        self._write_later(list(self._chunker.full()))
        if self._unwritten_size > UNWRITTEN:
            self._pause()

    def _close_pipe(self, handle: int) -> None:
        self._loop.remove_reader(handle)
        del self._pipes[handle]
        self._changed.set()

    def _pause(self) -> None:
        self._paused = True
        for handle in self._pipes:
            self._loop.remove_reader(handle)

    def _resume(self) -> None:
        self._paused = False
        for handle in self._pipes:
            self._loop.add_reader(handle, self._read, handle)

    def _drain(self) -> None:
        """Read what is in the pipes at this moment, and from then on no more into the output."""
        self._paused = False
        for handle, stream in list(self._pipes.items()):
            self._loop.remove_reader(handle)
            with contextlib.suppress(OSError):
                stream.feed(os.read(handle, _readable(handle)))

    # Writing

    def _show(self) -> None:
        self._timer = None
        self._write_later(list(self._chunker.rest()))

    def _write_later(self, chunks: list[Chunk]) -> None:
        if not chunks:
            return
        self.result.add(chunks)
        self._unwritten += chunks
        self._unwritten_size += sum(len(chunk.stdout) + len(chunk.stderr) for chunk in chunks)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write(), name="bash-write")

    async def _write(self) -> None:
        """Write all that waits, in order: a chunk that failed is tried again before the next."""
        while chunks := self._unwritten:
            self._unwritten = []
            await self._append(chunks)
            self._unwritten_size -= sum(len(chunk.stdout) + len(chunk.stderr) for chunk in chunks)
            if self._paused and self._unwritten_size <= UNWRITTEN // 2:
                self._resume()
        self._writing = None

    async def _append(self, chunks: list[Chunk]) -> None:
        pauses = iter(WRITE_PAUSES)
        while True:
            try:
                # The result is handed over where the commit happens: one change of threads less.
                after = self.result.written if chunks[-1].exit_code is not None else None
                future: Future = journal.append_outputs(self.order, chunks, after=after)
                await asyncio.wrap_future(future)
                return
            except Exception as error:
                if is_database_trouble(error):
                    # It waits for space or for the database, and the program for it (``UNWRITTEN``).
                    logger.error("Output of bash command %s waits: %s", self.order.id, error)  # noqa: TRY400
                    await asyncio.sleep(TROUBLE_PAUSE)
                    continue
                logger.exception("Output of bash command %s is not written", self.order.id)
                if (pause := next(pauses, None)) is None:
                    return
                await asyncio.sleep(pause)

    async def _conclude(self, exit_code: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._write_later(list(self._chunker.last(exit_code)))
        while self._writing is not None:
            await self._writing
        self.result.settle()

    # What is left behind

    async def _tidy(self, process: subprocess.Popen[bytes]) -> None:
        """Let what still holds the pipes run until the time limit, reading and dropping its output."""
        for handle in self._pipes:
            self._loop.add_reader(handle, self._drop, handle)
        await self._until(lambda: not self._pipes or self.stopping, self._ends_at)
        if self._pipes:
            await processes.end(process.pid, self.order.id.hex)
        for handle in list(self._pipes):
            self._close_pipe(handle)
        for pipe in (process.stdout, process.stderr):
            pipe.close()
        _reap(process)

    def _drop(self, handle: int) -> None:
        try:
            if not os.read(handle, READ):
                self._close_pipe(handle)
        except BlockingIOError:
            pass


def _readable(handle: int) -> int:
    """Bytes that the pipe holds now; a flood in the background must not keep us reading."""
    return struct.unpack("i", fcntl.ioctl(handle, termios.FIONREAD, b"\0\0\0\0"))[0]


def _exit_code(pid: int) -> int:
    """The status of a process that has ended, or minus its signal. Leaves it to be reaped."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    if ended is None:  # not even SIGKILL ended it
        return -1
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _outcome(exit_code: int) -> str:
    """As it is counted. -1 is what a time limit and a failure of the server leave, by the protocol."""
    if exit_code == 0:
        return "success"
    if exit_code == -1:
        return "timeout_or_error"
    return "failure" if exit_code > 0 else "signal"


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.returncode = _exit_code(process.pid)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)
