"""The outbox: what each webhook has yet to hear, read from the rows; and its place in them, moved.

Reads run on a pool thread. Whatever changes a delivery is one statement with the conditions under
which it holds, on the writer thread: of two processes one gets the post, and a place never moves for
a post that was overtaken.
"""

import datetime
import uuid
from dataclasses import dataclass

from django.db.models import F
from django.utils import timezone

from agentserver import writer
from agentserver.webhooks import hooks
from agentserver.webhooks.models import Delivery, Webhook
from conversations.models import Conversation, Event, Status


@dataclass(frozen=True, slots=True)
class Place:
    """Where a webhook is in a conversation. ``newest``: the conversation's last event, -1 for none.
    ``busy``: seconds for which another process has it.
    """

    id: int
    conversation_id: uuid.UUID
    posted: int
    through: int | None
    wanted: int
    announced: int
    repeated: int
    failures: int
    last: bool
    newest: int
    deleting: bool
    busy: float

    @property
    def waiting(self) -> int:
        """Events to be posted."""
        return self.newest + 1 - self.posted

    @property
    def is_info(self) -> bool:
        """Whether an announcement is next: first of all, but the last of one that is deleted."""
        return self.wanted > self.announced and not (self.deleting and self.waiting)

    @property
    def behind(self) -> bool:
        return self.waiting > 0 or self.wanted > self.announced


# Asked by the conversation's transactions, on the writer thread


def announce(conversation_id: uuid.UUID) -> bool:
    """Every webhook of the conversation is to be told how it is; whether there is any."""
    owner_ids = Conversation.objects.filter(id=conversation_id).values_list("owner_id", flat=True)
    for owner_id in owner_ids:
        if listening := hooks.hearing(owner_id):
            _ensure(listening, conversation_id)
            told = Delivery.objects.filter(conversation_id=conversation_id, webhook__in=listening)
            told.update(wanted=F("wanted") + 1)
            return True
    return False


def keep(conversation_id: uuid.UUID) -> bool:
    """Whether a webhook has yet to hear of a deleted conversation; its rows then wait for that."""
    deliveries = Delivery.objects.filter(conversation_id=conversation_id)
    owed = deliveries.filter(webhook__in=hooks.rows().filter(enabled=True))
    if not owed.behind().exists():
        return False
    deliveries.update(last=True)
    return True


def _ensure(listening: list[Webhook], conversation_id: uuid.UUID) -> None:
    deliveries = Delivery.objects.filter(conversation_id=conversation_id)
    known = set(deliveries.values_list("webhook_id", flat=True))
    new = [
        Delivery(webhook=hook, conversation_id=conversation_id, posted=_beginning(hook, conversation_id))
        for hook in listening
        if hook.pk not in known
    ]
    if new:
        Delivery.objects.bulk_create(new, ignore_conflicts=True)


def _beginning(hook: Webhook, conversation_id: uuid.UUID) -> int:
    """The first event that is the webhook's to hear: what is older than the webhook is not."""
    older = Event.objects.of(conversation_id).filter(id__lte=hook.mark).order_by("-sequence")
    last = older.values_list("sequence", flat=True).first()
    return -1 if last is None else last + 1


# Read by who posts, on a pool thread


def look(hook_id: int, conversation_id: uuid.UUID, holder: str) -> Place | None:
    """Where the webhook is, as ``holder`` sees it; None if the conversation or the webhook has gone."""
    row = _delivery(hook_id, conversation_id)
    if row is None:
        writer.current().call(lambda: _begin(hook_id, conversation_id))
        row = _delivery(hook_id, conversation_id)
    if row is None:
        return None
    events = Event.objects.of(conversation_id).order_by("-sequence")
    newest = events.values_list("sequence", flat=True).first()
    return Place(
        id=row.pk,
        conversation_id=conversation_id,
        posted=row.posted,
        through=row.through,
        wanted=row.wanted,
        announced=row.announced,
        repeated=row.repeated,
        failures=row.failures,
        last=row.last,
        newest=-1 if newest is None else newest,
        deleting=row.conversation.status == Status.DELETING,
        busy=_busy(row, holder),
    )


def _busy(row: Delivery, holder: str) -> float:
    if row.holder == holder:
        return 0
    now = timezone.now()
    moments = [moment for moment in (row.held_until, row.next_at) if moment is not None]
    return max([0.0, *((moment - now).total_seconds() for moment in moments)])


def _delivery(hook_id: int, conversation_id: uuid.UUID) -> Delivery | None:
    rows = Delivery.objects.filter(webhook_id=hook_id, conversation_id=conversation_id)
    return rows.select_related("conversation").defer(*_WIDE).first()


_WIDE = ("conversation__base_state", "conversation__info", "conversation__request", "conversation__goal")


def _begin(hook_id: int, conversation_id: uuid.UUID) -> None:
    hook = Webhook.objects.filter(id=hook_id).first()
    if hook is not None and Conversation.objects.filter(id=conversation_id).exists():
        _ensure([hook], conversation_id)


def behind(hook_id: int, after: int, limit: int) -> list[tuple[int, uuid.UUID]]:
    """Deliveries with something to post, in order of their ids after ``after``: (id, conversation)."""
    rows = Delivery.objects.filter(webhook_id=hook_id, id__gt=after).behind().order_by("id")
    return list(rows.values_list("id", "conversation_id")[:limit])


def unknown(hook: hooks.Hook, limit: int) -> list[uuid.UUID]:
    """Conversations that were used since the webhook was made and that it has no place in yet."""
    made = Webhook.objects.filter(id=hook.id).values("created_at")
    rows = Conversation.objects.filter(updated_at__gte=made).exclude(
        id__in=Delivery.objects.filter(webhook_id=hook.id).values("conversation_id")
    )
    if hook.owner_id is not None:
        rows = rows.filter(owner_id=hook.owner_id)
    return list(rows.values_list("id", flat=True)[:limit])


# Written by who posts, on the writer thread


def claim(place: Place, through: int | None, holder: str, until: datetime.datetime) -> bool:
    """Make the post ours until ``until``, if it is nobody else's and still the next one.

    ``through``: the last event of it; for an announcement as it was.
    """
    rows = Delivery.objects.filter(
        id=place.id, posted=place.posted, announced=place.announced, repeated=place.repeated
    )
    mine = rows.claimable(holder, timezone.now()).filter(through=place.through)
    return bool(mine.update(holder=holder, held_until=until, through=through))


def accepted(place: Place, through: int | None, holder: str) -> bool:
    """The post was accepted: move on. False if it had been overtaken.

    ``through``: the last event of it; None for an announcement.
    """
    ours = Delivery.objects.filter(id=place.id, holder=holder, repeated=place.repeated)
    moved = {"announced": place.wanted} if through is None else {"posted": through + 1, "through": None}
    return bool(
        ours.update(
            **moved, held_until=None, next_at=None, failures=0, last_error="", accepted_at=timezone.now()
        )
    )


def failed(place: Place, holder: str, error: str, next_at: datetime.datetime) -> None:
    """The post failed, with ``error`` for people to read: it is tried again from ``next_at`` on."""
    ours = Delivery.objects.filter(id=place.id, holder=holder)
    ours.update(failures=F("failures") + 1, last_error=error[:200], next_at=next_at, held_until=None)


def release(holder: str) -> None:
    """What ``holder`` was posting is anybody's: it ends."""
    Delivery.objects.filter(holder=holder, held_until__isnull=False).update(held_until=None)


def release_all() -> None:
    """For the only process on its database: whoever posted has died, and everything is tried at once."""
    Delivery.objects.filter(held_until__isnull=False).update(held_until=None)
    Delivery.objects.filter(next_at__isnull=False).update(next_at=None)
