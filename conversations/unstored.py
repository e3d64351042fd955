"""Events that are made to be shown: they have the wire's form and no row."""

import datetime
import uuid
from typing import Any

import orjson

from conversations import infos
from conversations.models import Conversation


def full_state(row: Conversation) -> str:
    """The state as it is now, with every secret masked."""
    value = infos.full_state(row)
    return event("ConversationStateUpdateEvent", source="environment", key="full_state", value=value)


def event(kind: str, **fields: Any) -> str:
    # Local time without zone, as the SDK stamps events.
    now = datetime.datetime.now()  # noqa: DTZ005
    head = {"id": str(uuid.uuid4()), "timestamp": now.isoformat()}
    return orjson.dumps({**head, **fields, "kind": kind}).decode()
