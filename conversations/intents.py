"""The rules of run intent, each one statement on the conversation's row.

``intent`` is the number of the newest input that asks for a run and that no run has seen; null
when there is none. It is set in the transaction that stores the input, cleared when a model
request that contains the input begins, by the run that began after it, or by a stop that was
asked for later. Whoever ends a run, stores a message or starts the server looks at it here.
"""

import uuid

import orjson
from django.db.models import F, Q
from django.utils import timezone

from conversations import signals
from conversations.models import Command, Conversation, Status


def ask(conversation_id: uuid.UUID, number: int) -> None:
    """Input ``number`` asks for a run. Inside the transaction that stores it."""
    Conversation.objects.filter(id=conversation_id).update(intent=number)


def seen(conversation_id: uuid.UUID, number: int) -> None:
    """A run has taken up all input up to ``number``."""
    Conversation.objects.filter(id=conversation_id, intent__lte=number).update(intent=None)


def withdraw(conversation_id: uuid.UUID, kind: str) -> int:
    """A stop (pause, interrupt): it wins over every run asked for before it, and over the one that goes on.

    Returns the number of the run to stop, 0 if none goes on. Inside the stop's transaction.
    """
    Command.objects.filter(conversation_id=conversation_id, run=True).update(run=False)
    ours = Conversation.objects.filter(id=conversation_id)
    ours.update(intent=None)
    # For a runner in another process. An interrupt is not taken back by a pause of the same run.
    kept = Q(stop_run=F("run_number"), stop_kind="interrupt")
    ours.running().exclude(kept).update(stop_run=F("run_number"), stop_kind=kind)
    return ours.running().values_list("run_number", flat=True).first() or 0


def is_over(conversation_id: uuid.UUID) -> bool:
    """Whether a run would end where it begins: it is finished, nothing came since, no hook may want more."""
    nothing_new = Conversation.objects.filter(id=conversation_id, intent__isnull=True, goal="").exclude(
        commands__failure=""
    )
    request = nothing_new.filter(status=Status.FINISHED).values_list("request", flat=True).first()
    if request is None:
        return False
    kept = orjson.loads(request)
    return not kept.get("hook_config") and not kept.get("plugins")


def claim(conversation_id: uuid.UUID) -> int:
    """Make it running, if it is not. Of several callers one gets the run's number, the others 0."""
    ours = Conversation.objects.filter(id=conversation_id)
    free = ours.exclude(status__in=[Status.RUNNING, Status.DELETING])
    if not free.update(status=Status.RUNNING, run_number=F("run_number") + 1, updated_at=timezone.now()):
        return 0
    return ours.values_list("run_number", flat=True).get()


def settle(conversation_id: uuid.UUID, epoch: int, status: str) -> int:
    """End a run with ``status``: 0. Or, if unseen input asks for another: that one's number.

    Raises LookupError if the conversation is gone or claimed by somebody else.
    """
    ours = Conversation.objects.filter(id=conversation_id, run_epoch=epoch).exclude(status=Status.DELETING)
    if ours.filter(intent__isnull=True).update(status=status, updated_at=timezone.now()):
        if status == Status.PAUSED:
            signals.changed.send(sender=Conversation, conversation_id=conversation_id)
        return 0
    if not ours.update(run_number=F("run_number") + 1):
        raise LookupError(f"Conversation {conversation_id} is no longer this process's to run.")
    return ours.values_list("run_number", flat=True).get()


def rest(conversation_id: uuid.UUID, epoch: int) -> None:
    """A run that was given up is over: paused, whatever it had been asked to do."""
    if Conversation.objects.filter(id=conversation_id, run_epoch=epoch).update(status=Status.PAUSED):
        signals.changed.send(sender=Conversation, conversation_id=conversation_id)


def outstanding() -> list[uuid.UUID]:
    """Conversations whose input waits for a run or whose commands wait for their runner."""
    asked = Q(intent__isnull=False) | Q(commands__failure="")
    rows = Conversation.objects.living().filter(asked).exclude(status=Status.RUNNING)
    return list(rows.values_list("id", flat=True).distinct())
