"""The questions asked of bash events, as adjectives."""

import datetime
import uuid
from typing import Self

from django.db import models
from django.db.models import BooleanField, Exists, F, OuterRef, Q
from django.db.models.expressions import RawSQL

COMMAND, OUTPUT = "BashCommand", "BashOutput"


class BashEventQuerySet(models.QuerySet):
    def of(self, conversation_id: uuid.UUID | None) -> Self:
        """The events of one conversation's shell; None: of the server's own."""
        return self.filter(conversation_id=conversation_id)

    def newest(self) -> int:
        """The highest number there is; 0 when there is none."""
        return self.order_by("-id").values_list("id", flat=True).first() or 0

    def outputs_of(self, command_id: uuid.UUID) -> Self:
        return self.filter(command_id=command_id, kind=OUTPUT)

    def beyond_order(self, order: int) -> Self:
        """Without the outputs up to ``order``; commands have none and stay."""
        return self.filter(Q(order__gt=order) | Q(order=None))

    def running(self) -> Self:
        """The commands that have not ended.

        With the text of the index's condition: SQLite uses a partial index for no parameter.
        """
        running = RawSQL("""NOT ("bashevents_bashevent"."runner" = '')""", [], BooleanField())
        return self.filter(running, kind=COMMAND)

    def past(self, position: tuple[datetime.datetime, int], *, newest_first: bool) -> Self:
        """Those that follow ``position`` (time, id) in reading order, whether or not it still exists."""
        moment, row = position
        if newest_first:
            return self.filter(timestamp__lte=moment).exclude(timestamp=moment, id__gte=row)
        return self.filter(timestamp__gte=moment).exclude(timestamp=moment, id__lte=row)

    def prunable(self, cutoff: datetime.datetime) -> Self:
        """Those older than ``cutoff`` whose command had ended by then, or has been deleted.

        So the history of a command goes as a whole: never while it runs, and not before its end
        is as old as the rest.
        """
        command = self.model.objects.filter(event_id=OuterRef("command_id"))
        needed = command.filter(Q(finished_at=None) | Q(finished_at__gte=cutoff))
        return self.filter(timestamp__lt=cutoff).exclude(Exists(needed))

    def in_order(self, *, newest_first: bool = False) -> Self:
        """By time, and by insertion where times are equal."""
        return self.order_by("-timestamp", "-id") if newest_first else self.order_by("timestamp", "id")

    def in_output_order(self, *, newest_first: bool = False) -> Self:
        """For the outputs of one command: the same order as ``in_order``, from a narrower index."""
        return self.order_by(F("order").desc() if newest_first else F("order").asc())
