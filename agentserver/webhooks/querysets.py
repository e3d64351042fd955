"""The questions asked of deliveries, as adjectives."""

import datetime
from typing import Self

from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from conversations.models import Event


class DeliveryQuerySet(models.QuerySet):
    def behind(self) -> Self:
        """Those whose webhook has yet to hear something. One step into an index each."""
        newer = Event.objects.filter(
            conversation_id=OuterRef("conversation_id"), sequence__gte=OuterRef("posted")
        )
        return self.filter(Q(announced__lt=F("wanted")) | Q(posted__lt=0) | Exists(newer))

    def claimable(self, holder: str, now: datetime.datetime) -> Self:
        """Those that ``holder`` may post: nobody else does, or waits before it tries again."""
        free = Q(held_until=None) | Q(held_until__lte=now)
        due = Q(next_at=None) | Q(next_at__lte=now)
        return self.filter(Q(holder=holder) | (free & due))
