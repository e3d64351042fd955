"""Webhooks, and for each conversation how far each webhook has heard: rows are the outbox.

What is posted are the conversation's own rows. A webhook's place in them is one number, so nothing
is copied, and whatever dies, the next process goes on from there.
"""

from typing import cast

from django.conf import settings
from django.db import models

from agentserver.webhooks.querysets import DeliveryQuerySet
from conversations.models import Conversation


class Webhook(models.Model):
    """A receiver: one of the operator's environment, or one that somebody made here."""

    key = models.CharField(
        max_length=64,
        null=True,
        blank=True,
        unique=True,
        editable=False,
        help_text="Which receiver of the environment it is; none: it was made here",
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="webhooks",
        help_text="Whose conversations it hears of; nobody: of all",
    )
    base_url = models.TextField(help_text="Posts go to its /events/ID and /conversations")
    headers = models.TextField(blank=True, default="", help_text="JSON object, encrypted")
    secret = models.TextField(blank=True, default="", help_text="Signs posts; encrypted")
    event_buffer_size = models.PositiveIntegerField(
        default=5, help_text="So many events are posted at once, and never more in one post"
    )
    flush_delay = models.FloatField(default=30, help_text="Seconds an event waits for others at the most")
    num_retries = models.PositiveIntegerField(
        default=3, help_text="Repetitions after the retry delay; later ones come ever later"
    )
    retry_delay = models.FloatField(default=5, help_text="Seconds between a failed post and its repetition")

    enabled = models.BooleanField(default=True)
    disabled_reason = models.TextField(blank=True, default="", editable=False)
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    last_error = models.CharField(max_length=200, blank=True, default="", editable=False)
    mark = models.BigIntegerField(
        default=0,
        editable=False,
        help_text="The newest event when it was made: it hears what comes after",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.base_url


class Delivery(models.Model):
    """How far one webhook has heard of one conversation, and who is posting.

    ``posted`` counts from -1: the state of the conversation at its beginning, which has no row, comes
    before event 0. ``through`` is the end of a post that was begun and not accepted: it is repeated as
    it was, under the same key. Every change is one statement that says what it expects.
    """

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries", db_index=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="+")
    posted = models.IntegerField(default=-1, help_text="The next event to post; those before are accepted")
    through = models.IntegerField(null=True, blank=True, help_text="The last event of the post that is begun")
    wanted = models.PositiveIntegerField(default=0, help_text="Announcements of the conversation asked for")
    announced = models.PositiveIntegerField(default=0, help_text="Announcements accepted")
    last = models.BooleanField(
        default=False, help_text="The conversation is deleted; its rows go when all is told"
    )
    repeated = models.PositiveIntegerField(default=0, help_text="Times that all was asked for again")

    holder = models.CharField(max_length=64, blank=True, default="", help_text="The process that posts")
    held_until = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveIntegerField(default=0, help_text="Failed posts since the last accepted one")
    next_at = models.DateTimeField(null=True, blank=True, help_text="Not to be tried before")
    last_error = models.CharField(max_length=200, blank=True, default="")
    accepted_at = models.DateTimeField(null=True, blank=True)

    objects = cast(DeliveryQuerySet, DeliveryQuerySet.as_manager())

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(fields=["webhook", "conversation"], name="delivery_of_conversation")
        ]
        indexes = [models.Index(fields=["webhook", "id"])]

    def __str__(self) -> str:
        return f"{self.conversation_id} to {self.webhook_id}"  # type: ignore[attr-defined]
