"""From a service to wherever the conversation lives. In one process: the runner of this process.

Services call these after their transaction. Nothing here decides; what was asked is in the rows.
"""

import logging
import uuid
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any

from agentserver import sdk, threads
from agentserver.errors import TooMany
from conversations import commands

if TYPE_CHECKING:
    from conversations.lanes import Lane
    from conversations.runner import Runner

logger = logging.getLogger(__name__)

STOP_SECONDS = 8.0
"""How long a request waits for an interrupted run to be over; the run ends without it as well."""
DELIVERY_SECONDS = 20.0
"""How long a request waits for its command where nothing but loading is in the way."""
BUSY_SECONDS = 1.0
"""The same while a run goes on, whose tool may hold the conversation for minutes. The command is
stored: it will be carried out whether or not anybody waits."""


def runner() -> "Runner":
    sdk.require()
    from conversations import runner as module

    return module.current()


def reserve() -> "Lane":
    """A lane for a run that is about to be asked for. Raises TooMany (429)."""
    lane = runner().lanes.acquire()
    if lane is None:
        raise TooMany()
    return lane


def release(lane: "Lane | None") -> None:
    if lane is not None:
        runner().lanes.release(lane)


def run(conversation_id: uuid.UUID, number: int, lane: "Lane | None") -> None:
    """Begin the claimed run; without a lane, in the next that is free."""
    _submit(runner().start, conversation_id, number, lane)


def deliver(conversation_id: uuid.UUID) -> None:
    """Have the stored commands carried out."""
    _submit(runner().consider, conversation_id)


def stop(conversation_id: uuid.UUID, kind: Any, number: int, asked_at: float) -> None:
    """Stop run ``number`` (0: none goes on, an idle conversation becomes paused).

    ``asked_at``: when the request came, by ``time.monotonic``.
    """
    loaded = runner().get(conversation_id)
    if not number:
        loaded.rest()
        return
    ended = loaded.stop(kind, number, asked_at)
    if ended is not None and kind == "interrupt":
        try:
            ended.result(STOP_SECONDS)
        except FutureTimeout:
            logger.warning("The interrupted run of %s takes longer than %s s", conversation_id, STOP_SECONDS)


def forget(conversation_id: uuid.UUID, number: int) -> None:
    """The row is marked as deleting: end what goes on and drop it from memory."""
    runner().delete(conversation_id, number, STOP_SECONDS)


def outcome(number: int, future: Future[Any], busy: bool) -> Any:
    """What came of command ``number``; None if that takes longer. Raises what it raised."""
    try:
        return future.result(BUSY_SECONDS if busy else DELIVERY_SECONDS)
    except FutureTimeout:
        commands.forget(number)
        return None


def _submit(function: Any, *args: Any) -> None:
    threads.waiting().submit(_logged, function, *args)


def _logged(function: Any, *args: Any) -> None:
    from django.db import close_old_connections

    try:
        function(*args)
    except Exception as error:
        logger.exception("%s failed: %s", getattr(function, "__name__", function), type(error).__name__)
    finally:
        close_old_connections()
