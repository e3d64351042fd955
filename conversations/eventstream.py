"""The events of a conversation as Server-Sent Events, for curl and for proxies that break sockets."""

import uuid
from collections.abc import AsyncIterator

from agentserver import threads
from agentserver.live import hub
from agentserver.sockets import PAGE
from conversations.models import Event, group_of

HEARTBEAT_SECONDS = 15
"""A comment after this much silence, so that proxies keep the connection."""


async def stream(conversation_id: uuid.UUID, sent: int) -> AsyncIterator[str]:
    """Each event after sequence ``sent`` as it is committed; ``id`` is its sequence. On the hub's loop.

    Ends when the conversation is deleted. A client resumes with ``Last-Event-ID``.
    """
    tail = await hub.subscribe(group_of(conversation_id))
    try:
        yield ": following\n\n"
        while True:
            for sequence, payload in await threads.run_in(threads.reading(), _after, conversation_id, sent):
                yield f"id: {sequence}\ndata: {payload}\n\n"
                sent = sequence
            if tail.closing is not None:
                return
            tail.rings.clear()
            if sent >= tail.newest:
                heard = tail.newest
                await tail.wait(HEARTBEAT_SECONDS)
                if tail.newest == heard and tail.closing is None:
                    yield ": still here\n\n"
    finally:
        await hub.unsubscribe(tail)


def _after(conversation_id: uuid.UUID, sequence: int) -> list[tuple[int, str]]:
    rows = Event.objects.of(conversation_id).after(sequence)
    return list(rows.values_list("sequence", "payload")[:PAGE])
