"""Conversations that the database failed under: taken from their rows again, as after a crash.

A full disk or a database that is away ends a run, and then even that it ended may not be written.
What is in memory is ahead of the rows, so it is given up. The rows are the record: the runner tries
until it can bring them to rest, and nothing that was acknowledged is lost.
"""

import logging
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from agentserver.causes import is_database_trouble
from agentserver.errors import NotFound
from agentserver.observability import disk, reserve
from conversations import recovery

if TYPE_CHECKING:
    from conversations.loaded import Loaded

logger = logging.getLogger(__name__)

CUT_OFF = "Tool call cut off: the server could not write to its database. It was not executed again."
SENTENCE = (
    "The server could not write to its database: {reason}. The run was ended. "
    "What was recorded before is kept; send a message or run again to go on."
)
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds between two tries."""


def reason_of(error: BaseException) -> str:
    return "its disk is full" if disk.is_full(error) else "it did not answer"


class Mending:
    """The broken conversations of this process, and when each is tried next. Thread-safe."""

    def __init__(self, consider: Callable[[uuid.UUID], None]) -> None:
        """``consider``: loads a conversation, which comes back to ``mend``, and carries out what waits."""
        self._consider = consider
        self._broken: dict[uuid.UUID, BaseException] = {}
        self._tries: dict[uuid.UUID, tuple[float, float]] = {}

    def is_broken(self, conversation_id: uuid.UUID) -> bool:
        return conversation_id in self._broken

    def add(self, conversation_id: uuid.UUID, error: BaseException) -> None:
        """Its rows could not be written, for ``error``."""
        if conversation_id not in self._broken:
            self._broken[conversation_id] = error
            logger.error("Conversation %s cannot be written: %s", conversation_id, reason_of(error))

    def mend(self, loaded: "Loaded", claimed: int) -> None:
        """Bring what was just loaded to rest, if it is broken. Raises what writing its rows raises.

        ``claimed``: a run that is about to begin, whose row is left as it is.
        """
        error = self._broken.get(loaded.id)
        if error is not None:
            said = SENTENCE.format(reason=reason_of(error))
            recovery.bring_to_rest(loaded, CUT_OFF, said, claimed)
            self._broken.pop(loaded.id, None)

    def forget(self, conversation_id: uuid.UUID) -> None:
        """Somebody else brings it to rest."""
        self._broken.pop(conversation_id, None)

    def go_on(self) -> None:
        """Try those whose time has come; called every second."""
        for conversation_id in list(self._broken):
            at, pause = self._tries.get(conversation_id, (0.0, FIRST_PAUSE))
            if time.monotonic() >= at:
                self._tries[conversation_id] = time.monotonic() + pause, min(2 * pause, LONGEST_PAUSE)
                self._try(conversation_id)
        for conversation_id in self._tries.keys() - self._broken.keys():
            del self._tries[conversation_id]

    def _try(self, conversation_id: uuid.UUID) -> None:
        try:
            self._attempt(conversation_id)
        except NotFound:
            self._broken.pop(conversation_id, None)
        except Exception as error:
            if not is_database_trouble(error):
                logger.exception("Conversation %s cannot be mended; it is tried again", conversation_id)
                return
            logger.warning("Conversation %s is not written yet: %s", conversation_id, reason_of(error))
        if not self.is_broken(conversation_id):
            logger.info("Conversation %s is written again", conversation_id)

    def _attempt(self, conversation_id: uuid.UUID) -> None:
        try:
            self._consider(conversation_id)
        except Exception as error:
            if not (disk.is_full(error) and reserve.release()):
                raise
            self._consider(conversation_id)
