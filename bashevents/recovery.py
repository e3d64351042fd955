"""Ending, on paper and in fact, the commands whose server has gone without doing it."""

import logging

from django.db.models import Max
from django.utils import timezone

from bashevents import journal, processes, runner
from bashevents.journal import Chunk, Order
from bashevents.models import BashEvent
from bashevents.serializers import ExecuteRequest

logger = logging.getLogger(__name__)

SENTENCE = "The server ended while this command ran."


def end_orphans() -> int:
    """Give every orphaned command its last output, exit code -1, and kill what is left of it; how many."""
    orphans = [command for command in BashEvent.objects.running() if _is_orphan(command)]
    if orphans:
        processes.end_marked([command.event_id.hex for command in orphans])
        logger.warning("%d bash commands were running when their server ended", len(orphans))
    for command in orphans:
        _conclude(command)
    return len(orphans)


def _is_orphan(command: BashEvent) -> bool:
    if command.runner == runner.name():
        return not runner.current().knows(command.event_id)
    lives = runner.lives(command.runner)
    if lives is None:  # another machine: it had until then
        return command.deadline is None or command.deadline < timezone.now()
    return not lives


def _conclude(command: BashEvent) -> None:
    newest = BashEvent.objects.outputs_of(command.event_id).aggregate(Max("order"))["order__max"]
    order = Order(command.event_id, command.conversation_id, ExecuteRequest(command=""))
    chunk = Chunk(0 if newest is None else newest + 1, "", SENTENCE, -1)
    journal.append_outputs(order, [chunk]).result()
