"""From a service to wherever the conversation lives: a lane of this process, or the engine.

Services call these after their transaction (``enqueue``: in it). Nothing here decides; what was asked
is in the rows. The settings choose: see ``Configuration.engine``.
"""

import uuid
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agentserver import conf
from conversations import engine, local

if TYPE_CHECKING:
    from conversations.lanes import Lane
    from conversations.loaded import Loaded


class Outcome(Protocol):
    """What comes of a command."""

    def result(self, *, busy: bool) -> Any:
        """What came of it; None if that takes longer than is waited for. Raises what it raised.

        ``busy``: a run goes on, whose tool may hold the conversation for minutes.
        """


class Dispatcher(Protocol):
    """Where runs happen. Worker threads only."""

    def reserve(self) -> "Lane | None":
        """Room for a run that is about to be asked for. Raises TooMany (429)."""

    def release(self, lane: "Lane | None") -> None:
        """It is not needed after all."""

    def enqueue(self, conversation_id: uuid.UUID) -> None:
        """Something is asked of the conversation. In the transaction that records it."""

    def created(self, loaded: "Loaded", number: int, lane: "Lane | None") -> None:
        """A conversation was made here; ``number``: its claimed run, 0 without one."""

    def run(self, conversation_id: uuid.UUID, number: int, lane: "Lane | None") -> None:
        """Begin the claimed run."""

    def deliver(self, conversation_id: uuid.UUID) -> None:
        """Have the stored commands carried out."""

    def stop(
        self, conversation_id: uuid.UUID, kind: Literal["pause", "interrupt"], number: int, asked_at: float
    ) -> None:
        """Stop run ``number``; an interrupt waits for its end. ``asked_at``: by ``time.monotonic``."""

    def forget(self, conversation_id: uuid.UUID, number: int) -> None:
        """The row is marked as deleting: end what goes on and drop it from memory."""

    def refuse(self, number: int, error: Exception) -> None:
        """Command ``number`` cannot be carried out: tell who waits. In a transaction."""

    def consulted(self, conversation_id: uuid.UUID) -> AbstractContextManager[Any]:
        """The SDK's conversation, for questions that record nothing. Raises NotFound."""

    def expect(self, number: int) -> Outcome:
        """The outcome of stored command ``number``."""


def current() -> Dispatcher:
    """The dispatcher that the settings choose."""
    return engine if conf.current().engine else local  # modules with these functions


def __getattr__(name: str) -> Any:
    """``dispatch.run`` and so on are those of the current dispatcher."""
    return getattr(current(), name)
