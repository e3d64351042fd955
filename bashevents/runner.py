"""The commands of this process, on one loop of their own: nothing they do delays a request."""

import asyncio
import concurrent.futures
import contextlib
import functools
import logging
import os
import socket
import threading
import uuid

import psutil

from agentserver.errors import TooMany, Unavailable
from agentserver.observability import metrics
from bashevents.execution import Execution
from bashevents.journal import Order

logger = logging.getLogger(__name__)

LIMIT = 256
"""Commands at once. Each holds three file handles, of the 1024 that a process usually has."""
CLOSE_SECONDS = 6
"""What ending all commands may take: the grace, the kill, and writing it down."""


class TooManyCommands(TooMany):
    code = "too_many_commands"
    sentence = f"{LIMIT} bash commands run already. Stop one, or wait until one has ended."


class Stopping(Unavailable):
    sentence = "The server is stopping and starts no more commands."


class Runner:
    """All methods may be called from any thread but the runner's own."""

    def __init__(self) -> None:
        self._executions: dict[uuid.UUID, Execution] = {}
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="bash", daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def reserve(self, order: Order, *, joined: bool) -> Execution:
        """A place for a command, so that a stop reaches it from the moment its id is known.

        Follow with ``launch`` or ``discard``. Raises TooManyCommands or Stopping.
        """
        execution = Execution(order, joined=joined)
        with self._lock:
            if self._closed:
                raise Stopping()
            if len(self._executions) >= LIMIT:
                raise TooManyCommands()
            if not self._thread.ident:
                self._thread.start()
            self._executions[order.id] = execution
        return execution

    def discard(self, execution: Execution) -> None:
        with self._lock:
            self._executions.pop(execution.order.id, None)

    def launch(self, execution: Execution) -> None:
        self._loop.call_soon_threadsafe(self._begin, execution)

    def stop(self, command_id: uuid.UUID, *, conversation_id: uuid.UUID | None) -> bool:
        """Ask a command to end, whether it waits to start or runs; False if it is not here."""
        with self._lock:
            execution = self._executions.get(command_id)
        if execution is None or execution.order.conversation_id != conversation_id:
            return False
        self._loop.call_soon_threadsafe(execution.stop)
        return True

    def count(self) -> int:
        """Commands that are not over, or have left something behind."""
        return len(self._executions)

    def knows(self, command_id: uuid.UUID) -> bool:
        with self._lock:
            return command_id in self._executions

    def busy(self, conversation_id: uuid.UUID | None) -> bool:
        """Whether something of a shell runs."""
        with self._lock:
            return any(one.order.conversation_id == conversation_id for one in self._executions.values())

    def end_all(self, *, conversation_id: uuid.UUID) -> None:
        """End all commands of a conversation, and wait until that is written down."""
        with self._lock:
            executions = list(self._executions.values())
        theirs = [one for one in executions if one.order.conversation_id == conversation_id]
        for execution in theirs:
            self.stop(execution.order.id, conversation_id=conversation_id)
        for execution in theirs:
            execution.result.wait(CLOSE_SECONDS)

    def close(self) -> None:
        """End every command and what it left behind, write that down, end the thread."""
        with self._lock:
            self._closed = True
            started = self._thread.ident is not None
        if not started:
            self._loop.close()
            return
        ending = asyncio.run_coroutine_threadsafe(self._end_all(), self._loop)
        with contextlib.suppress(concurrent.futures.TimeoutError):
            ending.result(CLOSE_SECONDS + 1)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(1)
        if not self._thread.is_alive():
            self._loop.close()

    # On the loop

    def _begin(self, execution: Execution) -> None:
        task = self._loop.create_task(self._run(execution), name=f"bash-{execution.order.id.hex}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, execution: Execution) -> None:
        try:
            await execution.run()
        except Exception:
            logger.exception("Ending a bash command failed")
        finally:
            self.discard(execution)

    async def _end_all(self) -> None:
        with self._lock:
            executions = list(self._executions.values())
        for execution in executions:
            execution.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_SECONDS)


_current: Runner | None = None
_current_lock = threading.Lock()


def current() -> Runner:
    """The runner of this process, made on first use, and anew after it was closed."""
    global _current
    with _current_lock:
        if _current is None:
            _current = Runner()
            metrics.BASH_RUNNING.set_function(_current.count)
        return _current


def close() -> None:
    """End the runner of this process, if there is one."""
    global _current
    with _current_lock:
        runner, _current = _current, None
    if runner is not None:
        runner.close()


@functools.cache
def name() -> str:
    """This process, so that another can tell whether it still lives: host, number, time of start."""
    return f"{_host()}:{os.getpid()}:{psutil.Process().create_time():.0f}"


def lives(runner_name: str) -> bool | None:
    """Whether the process of that name runs; None if it is on another machine."""
    host, number, started = runner_name.rsplit(":", 2)
    if host != _host():
        return None
    try:
        # The system derives the time from a clock that may be set: some seconds are no difference.
        return abs(psutil.Process(int(number)).create_time() - float(started)) < 5
    except psutil.Error:
        return False


def _host() -> str:
    return socket.gethostname()[:64]
