"""What each kind of command does to a loaded conversation. Worker threads only.

A command is carried out at most once: a message is deleted in the transaction that records its
event; the others do the same again without harm if the process dies between effect and deletion.
"""

import json
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from agentserver import sdk
from agentserver.errors import Conflict, NotFound
from conversations.models import Command

if TYPE_CHECKING:
    from conversations.loaded import Loaded

SUPERSEDED = "Superseded by a new message"
CUT_OFF = "Tool call interrupted before completion."
_kinds: dict[str, Callable[["Loaded", Any, int], Any]] = {}


def made(*, conversation_id: uuid.UUID, kind: str, payload: Any, run: bool = False) -> Command:
    """An unsaved command; its payload is encrypted, as it may hold secrets."""
    return Command(
        conversation_id=conversation_id, kind=kind, payload=sdk.encrypt(json.dumps(payload)), run=run
    )


def carry_out(loaded: "Loaded", command: Command) -> Any:
    text = sdk.decrypt(command.payload)
    if text is None:
        raise Conflict("What was asked was encrypted with a key this server does not have any more.")
    result = _kinds[command.kind](loaded, json.loads(text), command.number)
    if command.kind != "message":
        # The SDK saves what is changed during a step when the step ends; the command is gone by then.
        loaded.conversation.save()
    return result


def kind(name: str) -> Callable[[Callable[["Loaded", Any, int], Any]], Any]:
    def register(function: Callable[["Loaded", Any, int], Any]) -> Any:
        _kinds[name] = function
        return function

    return register


@kind("message")
def message(loaded: "Loaded", payload: Any, number: int) -> None:
    from openhands.sdk.llm import Message

    conversation = loaded.conversation
    with conversation.state as state:
        if state.execution_status.value == "waiting_for_confirmation":
            # What waits is never executed because somebody said something else.
            conversation.reject_pending_actions(SUPERSEDED)
        # A run that is being interrupted lets the lock go before it has answered its open calls:
        # a message between a call and its result is what models refuse.
        conversation.answer_orphans(CUT_OFF)
        with loaded.store.delivering(number):
            conversation.send_message(
                Message.model_validate(payload["message"]), sender=payload.get("sender")
            )
    loaded.after_message()


@kind("secrets")
def secrets(loaded: "Loaded", payload: Any, number: int) -> None:
    from openhands.sdk.secret import SecretSource

    values = {name: SecretSource.model_validate(source) for name, source in payload.items()}
    loaded.conversation.update_secrets(values)


@kind("confirmation_policy")
def confirmation_policy(loaded: "Loaded", payload: Any, number: int) -> None:
    from openhands.sdk.security.confirmation_policy import ConfirmationPolicyBase

    loaded.conversation.set_confirmation_policy(ConfirmationPolicyBase.model_validate(payload))


@kind("security_analyzer")
def security_analyzer(loaded: "Loaded", payload: Any, number: int) -> None:
    from openhands.sdk.security.analyzer import SecurityAnalyzerBase

    analyzer = None if payload is None else SecurityAnalyzerBase.model_validate(payload)
    loaded.conversation.set_security_analyzer(analyzer)


@kind("switch_llm")
def switch_llm(loaded: "Loaded", payload: Any, number: int) -> None:
    from openhands.sdk.llm import LLM

    loaded.conversation.switch_llm(LLM.model_validate(payload))
    loaded.watch_stats()


@kind("switch_acp_model")
def switch_acp_model(loaded: "Loaded", payload: Any, number: int) -> None:
    loaded.conversation.switch_acp_model(payload)


@kind("reject")
def reject(loaded: "Loaded", payload: Any, number: int) -> None:
    if loaded.conversation.state.execution_status.value == "waiting_for_confirmation":
        loaded.conversation.reject_pending_actions(payload)
        loaded.tell_full_state()


@kind("rest")
def rest(loaded: "Loaded", payload: Any, number: int) -> None:
    """A stop with no run to stop: an idle conversation becomes paused, others stay."""
    if not loaded.running:
        loaded.conversation.pause()
        loaded.tell_full_state()


@kind("tags")
def tags(loaded: "Loaded", payload: Any, number: int) -> None:
    loaded.conversation.state.tags = payload


@kind("navigate")
def navigate(loaded: "Loaded", payload: Any, number: int) -> None:
    try:
        loaded.conversation.navigate_to(payload)
    except ValueError:
        raise NotFound("The conversation has no such event.") from None
    loaded.tell_full_state()


@kind("load_plugin")
def load_plugin(loaded: "Loaded", payload: Any, number: int) -> None:
    loaded.conversation.load_plugin(payload)


NOT_SHORTENED = (
    "The conversation is not shortened: there is too little in it, or the condenser's model did not answer."
)


@kind("condense")
def condense(loaded: "Loaded", payload: Any, number: int) -> None:
    from openhands.sdk.context.condenser.base import NoCondensationAvailableException

    if not loaded.conversation.state.events:
        raise Conflict(NOT_SHORTENED)  # the SDK stumbles over no events at all
    try:
        loaded.conversation.condense()
    except NoCondensationAvailableException:
        raise Conflict(NOT_SHORTENED) from None
    except ValueError as error:
        raise Conflict(str(error).split(".")[0] + ". Configure a condenser that handles requests.") from None


# Who waits for a command of this process to be carried out, by its number.
_waiting: dict[int, Future[Any]] = {}


def expect(number: int) -> Future[Any]:
    """The outcome of command ``number``. Whoever stops waiting calls ``forget``."""
    return _waiting.setdefault(number, Future())


def forget(number: int) -> None:
    _waiting.pop(number, None)


def resolve(number: int, result: Any = None, error: BaseException | None = None) -> None:
    """Tell who waits, if anybody does."""
    future = _waiting.pop(number, None)
    if future is None:
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
