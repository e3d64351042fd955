"""Forking in the database: the SDK's own fork writes to disk and loses the keys."""

import uuid
from typing import Any

import orjson
from django.db import IntegrityError
from django.utils import timezone

from agentserver import writer
from agentserver.errors import Conflict, NotFound
from conversations import signals
from conversations.models import Conversation, Event, Status
from conversations.texts import columns

CUT_OFF = "Not executed here: the conversation was forked before this tool call had a result."
_FRESH_STATS: dict[str, Any] = {"usage_to_metrics": {}}


def fork(
    *,
    source: Conversation,
    new_id: uuid.UUID | None,
    title: str | None,
    tags: dict[str, str] | None,
    reset_metrics: bool,
    from_event_id: str | None,
    owner_id: int | None,
) -> Conversation:
    """A new idle conversation with the same history, keys included. Answers while the source runs.

    Raises NotFound for an unknown event, Conflict for an id in use.
    """
    target = _row(source, new_id or uuid.uuid4(), title, tags, from_event_id, owner_id)

    def operation() -> Conversation:
        fresh = Conversation.objects.get(pk=source.pk)
        events = _history(fresh, from_event_id)
        _fill(target, fresh, events, reset_metrics, from_event_id)
        Conversation.objects.bulk_create([target])
        signals.changed.send(sender=Conversation, conversation_id=target.id)
        Event.objects.bulk_create(events, batch_size=500)
        return target

    try:
        return writer.current().call(operation)
    except IntegrityError:
        raise Conflict("The id is in use.") from None


def _row(
    source: Conversation,
    new_id: uuid.UUID,
    title: Any,
    tags: Any,
    from_event_id: str | None,
    owner_id: int | None,
) -> Conversation:
    now = timezone.now()
    return Conversation(
        id=new_id,
        owner_id=owner_id,
        status=Status.IDLE,
        title=title,
        tags=orjson.dumps(tags or {}).decode(),
        workspace_dir=source.workspace_dir,
        queue=source.queue,
        request=source.request,
        forked_from_id=source.id,
        forked_from_event_id=from_event_id,
        created_at=now,
        updated_at=now,
    )


def _history(source: Conversation, from_event_id: str | None) -> list[Event]:
    events = list(Event.objects.of(source.id).order_by("sequence"))
    if from_event_id is None:
        return events
    by_id = {event.event_id: event for event in events}
    if from_event_id not in by_id:
        raise NotFound("The conversation has no such event.")
    path: list[Event] = []
    wanted: str | None = from_event_id
    while wanted is not None and (event := by_id.get(wanted)) is not None:
        path.append(event)
        wanted = orjson.loads(event.payload).get("parent_id")
    return path[::-1]


def _fill(
    target: Conversation,
    source: Conversation,
    events: list[Event],
    reset_metrics: bool,
    from_event_id: str | None,
) -> None:
    leaf = from_event_id or source.leaf_event_id
    for sequence, event in enumerate(events):
        event.pk, event.conversation_id, event.sequence = None, target.id, sequence
    leaf = _answer_open_calls(events, leaf, target.id)
    state, info = orjson.loads(source.base_state), orjson.loads(source.info)
    place = str(state.get("persistence_dir") or "").replace(source.id.hex, target.id.hex)
    for document in (state, info):
        document["persistence_dir"] = place or None
        document["leaf_event_id"] = leaf
        if reset_metrics:
            document["stats"] = _FRESH_STATS
    state |= {"id": str(target.id), "execution_status": Status.IDLE, "tags": orjson.loads(target.tags)}
    target.base_state, target.info = orjson.dumps(state).decode(), orjson.dumps(info).decode()
    target.leaf_event_id, target.next_sequence = leaf, len(events)


def _answer_open_calls(events: list[Event], leaf: str | None, target_id: uuid.UUID) -> str | None:
    """Append an error for each tool call of the branch without a result; returns the new leaf.

    Otherwise the fork's first run would execute what the source executes or waits to confirm.
    """
    from openhands.sdk.event import AgentErrorEvent

    for call in _open_calls(events, leaf):
        error = AgentErrorEvent(
            error=CUT_OFF, tool_name=call["tool_name"], tool_call_id=call["tool_call_id"], parent_id=leaf
        )
        payload = error.model_dump_json(exclude_none=True)
        leaf = error.id
        events.append(
            Event(
                conversation_id=target_id,
                sequence=len(events),
                event_id=error.id,
                payload=payload,
                **columns(payload),
            )
        )
    return leaf


def _open_calls(events: list[Event], leaf: str | None) -> list[dict[str, Any]]:
    by_id = {event.event_id: event for event in events}
    answered: set[str] = set()
    found: list[dict[str, Any]] = []
    while leaf is not None and (event := by_id.get(leaf)) is not None:
        document = orjson.loads(event.payload)
        if event.kind in ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent"):
            answered.add(document["tool_call_id"])
        elif (
            event.kind == "ActionEvent"
            and document.get("action")
            and document["tool_call_id"] not in answered
        ):
            found.append(document)
        leaf = document.get("parent_id")
    return found[::-1]
