"""The SDK's LocalConversation with the two moments of a run that its public surface does not tell."""

from collections.abc import Callable
from typing import Any

from openhands.sdk.context.view import View
from openhands.sdk.conversation.impl.local_conversation import LocalConversation
from openhands.sdk.conversation.state import ConversationState
from openhands.sdk.conversation.title_utils import extract_first_user_message, generate_title_from_message
from openhands.sdk.event import AgentErrorEvent
from openhands.sdk.event.conversation_error import ConversationErrorEvent

from agentserver.configuration import secrecy

_QUOTING = {ConversationErrorEvent: "detail", AgentErrorEvent: "error"}
TAIL = 200
"""Events at the end of the branch among which calls without a result are looked for."""


class RunnerConversation(LocalConversation):
    """``before_step`` is called with the state lock held, before each step of a run.

    What is in the log then is in the step's model request: so it is the one place to know which
    messages a run has seen, and the last moment to stop it. It may pause the conversation.
    """

    before_step: Callable[[], None] | None = None

    def _check_stuck_or_nudge(self) -> bool:
        # The first thing arun() does in an iteration that will make a step; True starts the
        # iteration over, which looks at the status again.
        if self.before_step is not None:
            self.before_step()
            if self._state.execution_status.value == "paused":
                return True
        return super()._check_stuck_or_nudge()

    def _tree_stamping(self, inner: Callable[[Any], None]) -> Callable[[Any], None]:
        # Every event comes by here, also from the agent and its tools, before anything sees it.
        return super()._tree_stamping(lambda event: inner(self._hide_keys(event)))

    def _hide_keys(self, event: Any) -> Any:
        """An error without the keys of the agent's models: providers quote what they refuse."""
        for kind, field in _QUOTING.items():
            if isinstance(event, kind):
                text = secrecy.masked(getattr(event, field), self.agent.get_all_llms())
                return event.model_copy(update={field: text})
        return event

    def save(self) -> None:
        """Persist the state now: for what is changed in place, which the SDK does not notice."""
        with self._state as state:
            state._save_base_state(state._fs)

    def emit(self, event: Any) -> None:
        """Record an event as the SDK would. Not on the lane's loop unless a run calls it there."""
        self._on_event(event)

    def make_title(self, *, llm: Any, max_length: int, prompt: str | None) -> str:
        """``generate_title`` with a prompt of the user's own. Asks ``llm``, else the agent's. Worker thread.

        Raises ValueError before the first message.
        """
        message = extract_first_user_message(self.state.active_branch())
        if message is None:
            raise ValueError("There is no message of a user yet.")
        return generate_title_from_message(
            message, llm or self.agent.llm, max_length, call_context=self._llm_call_context, prompt=prompt
        )

    def emit_error(self, code: str, detail: str) -> None:
        """Record that something around the agent failed: clients show it."""
        self.emit(ConversationErrorEvent(source="environment", code=code, detail=detail))

    def keep_open_calls(self) -> None:
        """After loading: let the view have tool calls that have no result yet.

        Loading drops them, and a result that comes later would then stand without its call, which
        models refuse. An empty view is filled from the branch as it is.
        """
        with self._state as state:
            state._view, state._view_branch_leaf = View(), None

    def answer_orphans(self, error: str) -> None:
        """An AgentErrorEvent for each tool call of the active branch that has no result."""
        with self._state as state:
            for action in ConversationState.get_unmatched_actions(state.active_branch(limit=TAIL)):
                self._on_event(
                    AgentErrorEvent(error=error, tool_name=action.tool_name, tool_call_id=action.tool_call_id)
                )
