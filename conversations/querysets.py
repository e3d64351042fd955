"""The questions asked of conversations and events, as adjectives."""

from typing import Self

from django.db import models


class ConversationQuerySet(models.QuerySet):
    def visible_to(self, principal) -> Self:
        """The conversations ``principal`` may see and control: the one object check."""
        if principal is None:
            return self.none()
        return self if principal.operator else self.filter(owner_id=principal.user_id)

    def living(self) -> Self:
        """Those that are not being deleted."""
        return self.exclude(status="deleting")

    def running(self) -> Self:
        return self.filter(status="running")


class EventQuerySet(models.QuerySet):
    def of(self, conversation_id) -> Self:
        return self.filter(conversation_id=conversation_id)

    def after(self, sequence: int) -> Self:
        """Those after ``sequence``, in order."""
        return self.filter(sequence__gt=sequence).order_by("sequence")
