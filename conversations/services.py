"""The write side: what a user can ask of a conversation, one verb each.

Each checks and records in one transaction (on the writer thread, so that writers queue instead of
contending), then tells the dispatcher. What is recorded is carried out even if the process dies.
"""

import functools
import random
import time
import uuid
from pathlib import Path
from typing import Any, Literal

import orjson
from django.db import IntegrityError
from django.utils import timezone

from agentserver import conf, live, threads, writer
from agentserver.auth.doors import Principal
from agentserver.compiled import CompiledModels, place
from agentserver.configuration import services as configuration
from agentserver.errors import BadGateway, Conflict, NotFound, Problem, invalid
from agentserver.workspace import worktrees
from conversations import commands, dispatch, intents, quota, removal, signals
from conversations.models import Command, Conversation, Status

GONE = 4004


@functools.cache
def _finding(fields: tuple[str, ...]) -> CompiledModels[Conversation]:
    return CompiledModels(Conversation.objects.living().filter(id=place(0)), 1, fields)


def find(*, conversation_id: uuid.UUID, principal: Principal, fields: tuple[str, ...] = ()) -> Conversation:
    """The conversation if ``principal`` may see it. Raises NotFound."""
    if fields and principal.operator:
        row = next(_finding(fields).models(conversation_id), None)
    else:
        rows = Conversation.objects.visible_to(principal).living().filter(id=conversation_id)
        row = (rows.only(*fields) if fields else rows).first()
    if row is None:
        raise NotFound()
    return row


def start(*, request: Any, principal: Principal) -> tuple[Conversation, bool]:
    """Create a conversation, and run it if it has an initial message: (row, whether it is new).

    ``request``: the SDK's StartConversationRequest. Raises TooMany before anything is stored.
    """
    from conversations import agents, building, runner

    conversation_id = request.conversation_id or uuid.uuid4()
    if (existing := _existing(conversation_id, principal)) is not None:
        return existing, False
    _check_parent(request, principal)
    agent, profile = agents.launched(request=request, principal=principal)
    running = request.initial_message is not None
    lane = _reserve(principal.user_id) if running else None
    try:
        request = _in_worktree(conversation_id, request)
        row = _new_row(conversation_id, request, principal, running=running)
        loaded = building.create(
            row=row,
            request=request,
            agent=agent,
            profile=profile,
            commands=_first_commands(conversation_id, request),
            lanes=runner.current().lanes,
            admit=lambda: _admit(principal, row) if running else None,
        )
    except IntegrityError:
        dispatch.release(lane)
        if (existing := _existing(conversation_id, principal)) is None:
            raise Conflict("The id is in use.") from None
        return existing, False
    except BaseException:
        dispatch.release(lane)
        raise
    dispatch.created(loaded, row.run_number, lane)
    return row, True


def _admit(principal: Principal, row: Conversation) -> None:
    quota.admit(principal.user_id)
    dispatch.enqueue(row.id)


def _in_worktree(conversation_id: uuid.UUID, request: Any) -> Any:
    """The request with a worktree as its workspace, if it asks for one and git can make it."""
    if not request.worktree:
        return request
    directory = Path(request.workspace.working_dir)
    made = worktrees.create(
        directory=directory, conversation_id=conversation_id, options=request.worktree_options
    )
    if made is None:
        return request
    workspace = request.workspace.model_copy(update={"working_dir": str(made.directory)})
    return request.model_copy(update={"workspace": workspace})


def _existing(conversation_id: uuid.UUID, principal: Principal) -> Conversation | None:
    row = Conversation.objects.filter(id=conversation_id).first()
    if row is None:
        return None
    if not Conversation.objects.visible_to(principal).living().filter(id=conversation_id).exists():
        raise Conflict("The id is in use.")
    return row


def _check_parent(request: Any, principal: Principal) -> None:
    if request.parent_conversation_id is None:
        return
    parents = Conversation.objects.visible_to(principal).living().filter(id=request.parent_conversation_id)
    if parents.values_list("workspace_dir", flat=True).first() != request.workspace.working_dir:
        raise invalid(
            ["body", "parent_conversation_id"], "The parent must exist and work in the same workspace."
        )


def _new_row(conversation_id: uuid.UUID, request: Any, principal: Principal, running: bool) -> Conversation:
    now = timezone.now()
    return Conversation(
        id=conversation_id,
        owner_id=principal.user_id,
        parent_id=request.parent_conversation_id,
        status=Status.RUNNING if running else Status.IDLE,
        run_number=1 if running else 0,
        tags=orjson.dumps(request.tags).decode(),
        workspace_dir=request.workspace.working_dir,
        queue=_queue(request.parent_conversation_id),
        created_at=now,
        updated_at=now,
    )


def _queue(parent_id: uuid.UUID | None) -> str:
    """Where its workspace is: the parent's, which is the same, or one of those this server makes."""
    parents = Conversation.objects.filter(id=parent_id).values_list("queue", flat=True)
    return (parents.first() if parent_id else None) or random.choice(conf.current().queues)  # noqa: S311


def _first_commands(conversation_id: uuid.UUID, request: Any) -> list[Command]:
    if request.initial_message is None:
        return []
    # An initial message always starts a run, whatever it says itself: as in the reference.
    payload = {"message": request.initial_message.create_message().model_dump(mode="json")}
    return [commands.made(conversation_id=conversation_id, kind="message", payload=payload, run=True)]


def send(*, row: Conversation, message: Any, run: bool, sender: str | None = None) -> None:
    """Store a user message; with ``run`` a model request will contain it, whatever happens."""
    payload = {"message": message.model_dump(mode="json"), "sender": sender}
    ask(row=row, kind="message", payload=payload, run=run)


def ask(*, row: Conversation, kind: str, payload: Any, run: bool = False) -> Any:
    """Store a command for the conversation's runner and wait for it, briefly while a run goes on.

    Returns what came of it, or None if that takes longer. Raises what it raised.
    """
    lane = _reserve(row.owner_id) if run and row.status != Status.RUNNING else None
    command = commands.made(conversation_id=row.id, kind=kind, payload=payload, run=run)

    def record() -> tuple[int, str]:
        command.pk = None
        _locked(row.id)
        command.save(force_insert=True)
        dispatch.enqueue(row.id)
        if not run:
            return 0, _status(row.id)
        intents.ask(row.id, command.pk)
        return _claim(row), Status.RUNNING

    try:
        number, status = writer.current().call(record)
    except BaseException:
        dispatch.release(lane)
        raise
    future = dispatch.expect(command.pk)
    if number:
        dispatch.run(row.id, number, lane)
    else:
        dispatch.release(lane)
        dispatch.deliver(row.id)
    return future.result(busy=status == Status.RUNNING and not number)


def _reserve(owner_id: int | None) -> Any:
    """A lane for a run of this user. Raises TooMany where they, or all together, run as many as may."""
    quota.look(owner_id)
    return dispatch.reserve()


def _claim(row: Conversation) -> int:
    """See ``intents.claim``; inside a transaction. Raises TooMany."""
    if number := intents.claim(row.id):
        quota.admit(row.owner_id)
        dispatch.enqueue(row.id)
    return number


def _locked(conversation_id: uuid.UUID) -> None:
    """Lock the row against other processes until the transaction ends. Raises NotFound."""
    if (
        not Conversation.objects.living()
        .select_for_update()
        .filter(id=conversation_id)
        .values_list("id")
        .first()
    ):
        raise NotFound()


def _status(conversation_id: uuid.UUID) -> str:
    return Conversation.objects.values_list("status", flat=True).get(id=conversation_id)


def run(*, row: Conversation) -> None:
    """Start a run; what waits for confirmation is accepted by it. Raises Conflict while one goes on.

    Nothing happens to a conversation that is finished and to which nothing came since.
    """
    if row.status == Status.RUNNING:
        raise Conflict("The conversation is running already.")
    if row.status == Status.FINISHED and intents.is_over(row.id):
        return
    lane = _reserve(row.owner_id)
    try:
        number = writer.current().call(lambda: _claim(row))
    except BaseException:
        dispatch.release(lane)
        raise
    if not number:
        dispatch.release(lane)
        raise Conflict("The conversation is running already.")
    dispatch.run(row.id, number, lane)


def stop(*, row: Conversation, kind: Literal["pause", "interrupt"]) -> None:
    """Pause or interrupt. It wins over every run asked for before it; with nothing to stop, an idle
    conversation becomes paused and any other stays as it is. Interrupt returns when the run is over.
    """
    asked_at = time.monotonic()
    rest = commands.made(conversation_id=row.id, kind="rest", payload=None)

    def record() -> int:
        rest.pk = None
        _locked(row.id)
        number = intents.withdraw(row.id, kind)
        if not number and _status(row.id) == Status.IDLE:
            rest.save(force_insert=True)
            dispatch.enqueue(row.id)
        return number

    number = writer.current().call(record)
    if number:
        dispatch.stop(row.id, kind, number, asked_at)
    elif rest.pk:
        resting = dispatch.expect(rest.pk)
        dispatch.deliver(row.id)
        resting.result(busy=False)
    if not number:  # else the end of the run says so
        writer.current().call(lambda: signals.changed.send(sender=Conversation, conversation_id=row.id))


def respond(*, row: Conversation, accept: bool, reason: str) -> None:
    """Accept or reject the actions that wait for confirmation; without any, nothing changes."""
    if row.status != Status.WAITING:
        return
    if accept:
        run(row=row)
    else:
        ask(row=row, kind="reject", payload=reason)


def update(*, row: Conversation, title: str | None, tags: dict[str, str] | None) -> None:
    """Set title and/or tags; None leaves one as it is."""
    changes: dict[str, Any] = {}
    if title is not None:
        changes["title"] = title
    if tags is not None:
        changes["tags"] = orjson.dumps(tags).decode()
    if changes:
        rows = Conversation.objects.filter(id=row.id)

        def record() -> None:
            rows.update(updated_at=timezone.now(), **changes)
            signals.changed.send(sender=Conversation, conversation_id=row.id)

        writer.current().call(record)


def delete(*, row: Conversation) -> None:
    """End whatever the conversation does, close its sockets, remove it with all its events."""

    def mark() -> int:
        _locked(row.id)
        number = intents.withdraw(row.id, "interrupt")
        Conversation.objects.filter(id=row.id).update(status=Status.DELETING, updated_at=timezone.now())
        signals.changed.send(sender=Conversation, conversation_id=row.id)
        return number

    number = writer.current().call(mark)
    dispatch.forget(row.id, number)
    live.end(row.group, GONE)
    writer.current().call(lambda: removal.remove(row.id))
    worktrees.remove(conversation_id=row.id)


def switch_llm(*, row: Conversation, llm: Any, principal: Principal) -> None:
    """The next model call uses ``llm``, a client's description of one. Raises Invalid (422)."""
    _switch(row, configuration.llm_of_request(principal=principal, llm=llm))


def switch_profile(*, row: Conversation, name: str, principal: Principal) -> None:
    """The same with a stored profile. Raises NotFound."""
    llm = configuration.llm_of_profile(principal=principal, name=name)
    _switch(row, llm.model_copy(update={"usage_id": f"profile:{name}"}))


def _switch(row: Conversation, llm: Any) -> None:
    payload = llm.model_dump(mode="json", context={"expose_secrets": True}, exclude_none=True)
    ask(row=row, kind="switch_llm", payload=payload)


def switch_acp_model(*, row: Conversation, model: str) -> None:
    """Change the model of an ACP agent. Raises Conflict for other agents."""
    if orjson.loads(row.info)["agent"].get("kind") != "ACPAgent":
        raise Problem("Only conversations with an ACP agent have such models. Use switch_llm.")
    ask(row=row, kind="switch_acp_model", payload=model)


def load_plugin(*, row: Conversation, plugin_ref: str) -> None:
    """Load a plugin into the conversation. Raises Problem (400) if that fails."""
    try:
        ask(row=row, kind="load_plugin", payload=plugin_ref)
    except (ValueError, OSError, RuntimeError):
        raise Problem(
            "The plugin cannot be loaded. Check its reference and that it can be reached."
        ) from None


def condense(*, row: Conversation) -> None:
    """Shorten what the model is told.

    Raises Conflict without a condenser that does so on request or with nothing to shorten, BadGateway
    (502) if the condenser's model fails.
    """
    condenser = orjson.loads(row.info)["agent"].get("condenser")
    if not condenser or condenser.get("kind") == "NoOpCondenser":
        raise Conflict("The agent has no condenser that could do this. Configure an LLMSummarizingCondenser.")
    try:
        ask(row=row, kind="condense", payload=None)
    except Problem:
        raise
    except Exception as error:
        raise BadGateway(f"The condenser's model did not answer ({type(error).__name__}).") from None


ASK_SECONDS = 120.0
"""What ask_agent waits for the model at the most."""


def ask_agent(*, row: Conversation, question: str) -> str:
    """The agent's answer to ``question`` beside the conversation; nothing is recorded.

    Raises BadGateway (502) with a reason if the model fails or takes too long.
    """
    with dispatch.consulted(row.id) as conversation:
        answer = threads.waiting().submit(conversation.ask_agent, question)
        try:
            return answer.result(ASK_SECONDS)
        except Exception as error:
            raise BadGateway(f"The agent's model did not answer ({type(error).__name__}).") from None
