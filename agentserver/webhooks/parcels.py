"""What is posted: the body, where it goes, and the key by which it is known if it comes twice."""

from collections.abc import Iterator
from dataclasses import dataclass

from agentserver.webhooks.hooks import Hook
from agentserver.webhooks.outbox import Place
from conversations import infos, unstored
from conversations.models import Conversation, Event

PAGE = 50
"""Events read at once, so that no more comes into memory than fits into a post."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """One post. ``through``: the last event in it; None for an announcement."""

    path: str
    key: str
    body: str
    through: int | None


def following(place: Place, hook: Hook) -> Parcel | None:
    """What comes next; None if the conversation has gone. On a pool thread."""
    return _info(place) if place.is_info else _events(place, hook)


def _info(place: Place) -> Parcel | None:
    row = infos.read(Conversation.objects.filter(id=place.conversation_id), include_skills=False).first()
    if row is None:
        return None
    return Parcel("/conversations", _key(place, f"info-{place.wanted}"), str(infos.info(row)), None)


def _events(place: Place, hook: Hook) -> Parcel | None:
    """The batch that was begun, as it was; else as many events as fit."""
    texts = []
    if place.posted < 0:
        row = Conversation.objects.filter(id=place.conversation_id).first()
        if row is None:
            return None
        texts.append(unstored.full_state(row))
    if place.through is None:
        texts += _within(hook.max_batch_bytes, texts, _payloads(place, hook.event_buffer_size - len(texts)))
    else:
        texts += _payloads(place, place.through + 1 - max(place.posted, 0))
    if not texts:
        return None
    through = place.posted + len(texts) - 1
    path = f"/events/{place.conversation_id.hex}"
    return Parcel(path, _key(place, f"{place.posted}-{through}"), f"[{','.join(texts)}]", through)


def _payloads(place: Place, count: int) -> Iterator[str]:
    """The next ``count`` events, or as many as there are."""
    sequence = place.posted - 1
    while count > 0:
        rows = Event.objects.of(place.conversation_id).after(sequence)
        page = list(rows.values_list("sequence", "payload")[: min(PAGE, count)])
        yield from (payload for _, payload in page)
        if len(page) < PAGE:
            return
        sequence, count = page[-1][0], count - len(page)


def _within(limit: int, before: list[str], payloads: Iterator[str]) -> Iterator[str]:
    """``payloads`` as long as the post stays below ``limit``; one that is larger comes alone."""
    size = sum(map(len, before))
    for number, payload in enumerate(payloads):
        size += len(payload) + 1
        if size > limit and (before or number):
            return
        yield payload


def _key(place: Place, what: str) -> str:
    again = f"-again{place.repeated}" if place.repeated else ""
    return f"{place.conversation_id.hex}-{what}{again}"
