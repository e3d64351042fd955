"""Goals: runs that a judge looks at when they finish, and that go on until it is content.

The deciding is the SDK's GoalController; here are its rounds as rows and runs. A goal is a JSON
object on the conversation's row, in the wire's shape of a GoalStatus.
"""

import asyncio
from typing import TYPE_CHECKING, Any, cast

import orjson
from openhands.sdk.conversation.goal import GoalController, GoalDone, GoalStatus
from openhands.sdk.conversation.goal.prompts import RESUME_PROMPT
from openhands.sdk.event import ConversationStateUpdateEvent

from agentserver import threads, writer
from agentserver.errors import Conflict, Problem
from conversations import commands, intents, services
from conversations.models import Conversation, Status

if TYPE_CHECKING:
    from conversations.loaded import Loaded

# What a user asks


def start(*, row: Conversation, objective: str, max_iterations: int) -> None:
    """Pursue ``objective``. Raises Conflict while the conversation runs, Problem (400) for an empty one."""
    if not objective.strip():
        raise Problem("The objective must say something.")
    _refuse_while_running(row)
    goal = GoalStatus(
        active=True, status="running", iteration=0, max_iterations=max_iterations, objective=objective
    )
    services.ask(
        row=row, kind="goal", payload={"goal": goal.model_dump(mode="json"), "message": objective}, run=True
    )


def resume(*, row: Conversation) -> None:
    """Go on with an interrupted goal. Raises Problem (400) if there is none."""
    _refuse_while_running(row)
    goal = orjson.loads(row.goal) if row.goal else {}
    if goal.get("status") != "interrupted":
        raise Problem("There is no interrupted goal. Start one.")
    goal |= {"active": True, "status": "running", "verdict": None}
    services.ask(row=row, kind="goal", payload={"goal": goal, "message": RESUME_PROMPT}, run=True)


def stop(*, row: Conversation) -> None:
    """Give the goal up and interrupt its run; without an active one nothing changes."""
    if row.goal and orjson.loads(row.goal)["active"] and row.status == Status.RUNNING:
        services.stop(row=row, kind="interrupt")


def _refuse_while_running(row: Conversation) -> None:
    if row.status == Status.RUNNING:
        raise Conflict("The conversation is running already.")


# What the runner does


@commands.kind("goal")
def begin(loaded: "Loaded", payload: Any, number: int) -> None:
    from openhands.sdk.llm import Message, TextContent

    goal = GoalStatus.model_validate(payload["goal"])
    loaded.goal = goal
    _save(loaded)
    loaded.conversation.emit(told(goal))
    message = Message(role="user", content=[TextContent(text=payload["message"])])
    with loaded.store.delivering(number):
        loaded.conversation.send_message(message)


async def judge(loaded: "Loaded") -> None:
    """On the lane's loop, after a run that finished: complete, capped, or a follow-up and another run.

    Cancelled by an interrupt; the judge's model call is cancelled with it.
    """
    goal, loop = loaded.goal, asyncio.get_running_loop()
    if goal is None:
        return
    judging = cast("Any", _Judge(loaded, loop))
    controller = GoalController(goal.objective, judging, max_iterations=goal.max_iterations)
    controller.iteration = goal.iteration
    events = await asyncio.to_thread(lambda: list(loaded.conversation.state.events))
    step = await asyncio.to_thread(controller.on_run_finished, events)
    changes: dict[str, Any] = {"iteration": controller.iteration}
    if isinstance(step, GoalDone):
        changes |= {"active": False, "status": step.outcome.status, "verdict": step.outcome.verdict}
    loaded.goal = goal.model_copy(update=changes)
    if not isinstance(step, GoalDone):
        await asyncio.to_thread(threads.with_connections, _follow_up, loaded, step.followup)


class _Judge:
    """The agent's model as the controller calls it, on the lane's loop where a cancel reaches it."""

    stream = False

    def __init__(self, loaded: "Loaded", loop: asyncio.AbstractEventLoop) -> None:
        llm = loaded.conversation.agent.llm
        self._llm = llm.model_copy(update={"stream": False}) if llm.stream else llm
        self._loop, self._loaded = loop, loaded

    def completion(self, messages: list[Any]) -> Any:
        call = asyncio.run_coroutine_threadsafe(self._llm.acompletion(messages), self._loop)
        self._loaded.judging = call
        return call.result()


def _follow_up(loaded: "Loaded", text: str) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    command = commands.made(conversation_id=loaded.id, kind="message", payload={"message": message}, run=True)

    def record() -> None:
        command.pk = None
        command.save(force_insert=True)
        intents.ask(loaded.id, command.pk)

    _save(loaded)
    loaded.conversation.emit(told(loaded.goal))
    writer.current().call(record)


def ended(loaded: "Loaded") -> ConversationStateUpdateEvent | None:
    """At the end of a run: the event that tells how the goal ended, if it has one that did."""
    goal = loaded.goal
    if goal is None:
        return None
    if goal.active:
        goal = goal.model_copy(update={"active": False, "status": "interrupted"})
    loaded.goal = goal
    _save(loaded)
    loaded.goal = None
    return told(goal)


def interrupted_by_crash(loaded: "Loaded") -> None:
    """Recovery: a goal that a dead process pursued can be resumed."""
    text = Conversation.objects.values_list("goal", flat=True).get(id=loaded.id)
    goal = GoalStatus.model_validate_json(text) if text else None
    if goal is not None and goal.active:
        loaded.goal = goal
        if (event := ended(loaded)) is not None:
            loaded.conversation.emit(event)


def taken_over(loaded: "Loaded") -> None:
    """A goal that another process pursued goes on here."""
    text = Conversation.objects.values_list("goal", flat=True).get(id=loaded.id)
    goal = GoalStatus.model_validate_json(text) if text else None
    loaded.goal = goal if goal is not None and goal.active else None


def told(goal: GoalStatus | None) -> ConversationStateUpdateEvent:
    return ConversationStateUpdateEvent(key="goal", value=goal.model_dump(mode="json") if goal else None)


def _save(loaded: "Loaded") -> None:
    text = orjson.dumps(loaded.goal.model_dump(mode="json")).decode() if loaded.goal else ""
    writer.current().call(lambda: Conversation.objects.filter(id=loaded.id).update(goal=text))
