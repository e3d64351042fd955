"""The dispatcher of one process: runs happen in its own lanes."""

import contextlib
import logging
import uuid
from collections.abc import Generator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentserver import sdk, threads
from agentserver.errors import TooMany
from conversations import commands
from conversations.models import Command

if TYPE_CHECKING:
    from conversations.lanes import Lane
    from conversations.loaded import Loaded
    from conversations.runner import Runner

logger = logging.getLogger(__name__)

STOP_SECONDS = 8.0
"""How long a request waits for an interrupted run to be over; the run ends without it as well."""
DELIVERY_SECONDS = 20.0
"""How long a request waits for its command where nothing but loading is in the way."""
BUSY_SECONDS = 1.0
"""The same while a run goes on. The command is stored: it will be carried out whether or not
anybody waits."""


def runner() -> "Runner":
    sdk.require()
    from conversations import runner as module

    return module.current()


def reserve() -> "Lane":
    lane = runner().lanes.acquire()
    if lane is None:
        raise TooMany()
    return lane


def release(lane: "Lane | None") -> None:
    if lane is not None:
        runner().lanes.release(lane)


def enqueue(conversation_id: uuid.UUID) -> None:
    """Rows need no job here: whoever recorded something tells the runner after the commit."""


def created(loaded: "Loaded", number: int, lane: "Lane | None") -> None:
    runner().adopt(loaded)
    if lane is not None:
        loaded.start(lane, number)


def run(conversation_id: uuid.UUID, number: int, lane: "Lane | None") -> None:
    _submit(runner().start, conversation_id, number, lane)


def deliver(conversation_id: uuid.UUID) -> None:
    _submit(runner().consider, conversation_id)


def stop(conversation_id: uuid.UUID, kind: Any, number: int, asked_at: float) -> None:
    ended = runner().get(conversation_id).stop(kind, number, asked_at)
    if ended is not None and kind == "interrupt":
        try:
            ended.result(STOP_SECONDS)
        except FutureTimeout:
            logger.warning("The interrupted run of %s takes longer than %s s", conversation_id, STOP_SECONDS)


def forget(conversation_id: uuid.UUID, number: int) -> None:
    runner().delete(conversation_id, number, STOP_SECONDS)


def refuse(number: int, error: Exception) -> None:
    """Whoever waits for it does so in this process."""
    Command.objects.filter(number=number).delete()


@contextlib.contextmanager
def consulted(conversation_id: uuid.UUID) -> Generator[Any]:
    yield runner().get(conversation_id).conversation


@dataclass(frozen=True, slots=True)
class Here:
    """The outcome of a command that this process carries out."""

    number: int
    future: Future[Any]

    def result(self, *, busy: bool) -> Any:
        try:
            return self.future.result(BUSY_SECONDS if busy else DELIVERY_SECONDS)
        except FutureTimeout:
            commands.forget(self.number)
            return None


def expect(number: int) -> Here:
    return Here(number, commands.expect(number))


def _submit(function: Any, *args: Any) -> None:
    threads.waiting().submit(_logged, function, *args)


def _logged(function: Any, *args: Any) -> None:
    try:
        function(*args)
    except Exception as error:
        logger.exception("%s failed: %s", getattr(function, "__name__", function), type(error).__name__)
