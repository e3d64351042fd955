"""The places as rows: said by those who answer there, read by those who pass requests on. Worker threads."""

import datetime
import random
import time
import uuid

from django.db import models
from django.db.models.functions import Now

from agentserver.places.models import Place

SEEN_SECONDS = 4.0
"""Between two signs of life."""
AWAY_SECONDS = 15.0
"""A place without one for this long is away: nobody is sent there."""
FORGOTTEN = datetime.timedelta(days=1)
"""After this a runner that is gone is forgotten when another of its queue comes."""
FRESH_SECONDS = 2.0
"""How long what was read of the places is used."""

_read_at, _places = float("-inf"), {}


def say(runner: str, queues: list[str], address: str) -> None:
    """This runner answers at ``address`` for the disk of these queues."""
    for queue in queues:
        name = f"{runner}.{queue}"[:64] if len(queues) > 1 else runner
        Place.objects.update_or_create(
            runner=name, defaults={"queue": queue, "address": address, "seen_at": Now()}
        )


def forget_gone(queues: list[str]) -> None:
    Place.objects.filter(queue__in=queues, seen_at__lt=Now() - FORGOTTEN).delete()


def leave(runner: str) -> None:
    """This runner answers no more. Its queue's disk stays one that web processes do not have."""
    Place.objects.filter(runner__startswith=runner).update(
        seen_at=Now() - 2 * datetime.timedelta(seconds=AWAY_SECONDS)
    )


def addresses(queue: str) -> list[str] | None:
    """Where the disk of ``queue`` is answered for, in any order, nowhere at the moment: empty.

    None: it has no disk of its own, so this process's is as good as any.
    """
    global _read_at, _places
    if time.monotonic() - _read_at > FRESH_SECONDS:
        _places, _read_at = _read(), time.monotonic()
    found = _places.get(queue)
    return None if found is None else random.sample(found, len(found))


def _read() -> dict[str, list[str]]:
    live = datetime.timedelta(seconds=AWAY_SECONDS)
    found: dict[str, list[str]] = {}
    for queue, address, here in Place.objects.annotate(
        here=models.Case(models.When(seen_at__gte=Now() - live, then=True), default=False)
    ).values_list("queue", "address", "here"):
        found.setdefault(queue, [])
        if here:
            found[queue].append(address)
    return found


def queue_of(conversation_id: uuid.UUID) -> str | None:
    """The queue of a conversation; None if there is no such one."""
    from conversations.models import Conversation

    return Conversation.objects.filter(id=conversation_id).values_list("queue", flat=True).first()
