"""The rows behind a timeline: chunks of events by sequence, and the usage of each step."""

import uuid
from typing import Any

import orjson

from agentserver.errors import invalid
from conversations.models import Event

CHUNK = 100
"""Events of one answer; the page asks for the chunks near what is on the screen."""
LARGEST = 256 * 1024
"""Characters of an event in a chunk; a larger one is named, and fetched when somebody opens it."""
POINTS = 2000
"""Steps of a usage chart; the newest."""


def sequence_of(text: str) -> int:
    """Raises Invalid (422)."""
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise invalid(["query", "first"], "Input should be a whole number from 0")
    return int(text)


def chunk(conversation_id: uuid.UUID, first: int) -> str:
    """JSON: the events with sequences from ``first`` to ``first + CHUNK - 1``."""
    rows = Event.objects.of(conversation_id).after(first - 1).filter(sequence__lt=first + CHUNK)
    columns = rows.values_list("sequence", "event_id", "kind", "source", "timestamp", "payload")
    items = ",".join(f'{{"seq":{row[0]},"event":{_event(*row[1:])}}}' for row in columns)
    return f'{{"items":[{items}]}}'


def _event(event_id: str, kind: str, source: str, timestamp: str, payload: str) -> str:
    if len(payload) <= LARGEST:
        return payload
    named = {
        "id": event_id,
        "kind": kind,
        "source": source,
        "timestamp": timestamp,
        "characters": len(payload),
    }
    return orjson.dumps(named).decode()


def usage(conversation_id: uuid.UUID) -> list[dict[str, Any]]:
    """What was used up to each step, oldest first: sequence, tokens in and out, dollars."""
    rows = Event.objects.of(conversation_id).filter(kind="ConversationStateUpdateEvent")
    # The state's other changes are told apart by their text: there is no column for the key.
    stats = rows.filter(payload__contains='"key":"stats"').order_by("-sequence")
    newest = list(stats.values_list("sequence", "payload")[:POINTS])
    return [_point(sequence, orjson.loads(payload)) for sequence, payload in reversed(newest)]


def _point(sequence: int, event: dict[str, Any]) -> dict[str, Any]:
    value = event.get("value")
    metrics = (value.get("usage_to_metrics") or {}).values() if isinstance(value, dict) else []
    used = [one.get("accumulated_token_usage") or {} for one in metrics]
    return {
        "seq": sequence,
        "prompt": sum(one.get("prompt_tokens", 0) for one in used),
        "completion": sum(one.get("completion_tokens", 0) for one in used),
        "cost": sum(one.get("accumulated_cost") or 0 for one in metrics),
    }
