"""What a conversation shows of its state while it runs: each change is recorded, the end is held back.

A run is over only when nothing of it can happen any more, so the status that the SDK sets first is
shown last.
"""

from collections.abc import Callable
from typing import Any, cast

from openhands.sdk.event import ConversationStateUpdateEvent

from conversations.models import Status
from conversations.sdkconversation import RunnerConversation


class Shown:
    """``running`` says whether a run goes on. Callbacks come on whatever thread changes the state."""

    def __init__(self, conversation: RunnerConversation, running: Callable[[], bool]) -> None:
        self._conversation, self._running = conversation, running
        self._held: ConversationStateUpdateEvent | None = None
        self._told = conversation.state.execution_status.value
        conversation.state.set_on_state_change(cast("Any", self._changed))
        self.watch_stats()

    def status(self, saved: str) -> str:
        """The row's status for a saved state."""
        return Status.RUNNING if self._running() else saved

    def _changed(self, event: ConversationStateUpdateEvent) -> None:
        """The SDK's callback for a changed field."""
        if event.key == "execution_status":
            value = _value(event)
            if self._running() and value != Status.RUNNING:
                self._held = event
                return
            self._held = None
            if value == self._told:
                return
            self._told = value
        self._conversation.emit(event)

    def take_held(self) -> ConversationStateUpdateEvent | None:
        """The end that was held back, if it is news."""
        event, self._held = self._held, None
        if event is None or _value(event) == self._told:
            return None
        self._told = _value(event)
        return event

    def watch_stats(self) -> None:
        """Record the statistics after each call of a model; again when there are other models."""
        for llm in self._conversation.agent.get_all_llms():
            llm.telemetry.set_stats_update_callback(self._tell_stats)

    def _tell_stats(self) -> None:
        stats = self._conversation.state.stats
        self._conversation.emit(ConversationStateUpdateEvent(key="stats", value=stats))


def _value(event: ConversationStateUpdateEvent) -> Any:
    return getattr(event.value, "value", event.value)
