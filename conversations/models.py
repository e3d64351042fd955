"""Conversations, their events, and the commands that wait for them: rows are the record."""

import uuid
from typing import TYPE_CHECKING, cast

from django.conf import settings
from django.db import models
from django.db.models import Q

from conversations.querysets import ConversationQuerySet, EventQuerySet


class Status(models.TextChoices):
    """The one status of a conversation, with the wire's names."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    WAITING = "waiting_for_confirmation"
    FINISHED = "finished"
    ERROR = "error"
    STUCK = "stuck"
    DELETING = "deleting"


class Conversation(models.Model):
    """One conversation with an agent. Wire names where they differ stand in serializers.py."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="conversations"
    )
    parent_id = models.UUIDField(null=True, blank=True, db_index=True)
    forked_from_id = models.UUIDField(null=True, blank=True)
    forked_from_event_id = models.CharField(max_length=64, null=True, blank=True)

    status = models.CharField(max_length=32, choices=Status.choices, default=Status.IDLE)
    title = models.TextField(null=True, blank=True)
    tags = models.TextField(default="{}", help_text="JSON object of strings")
    workspace_dir = models.TextField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    request = models.TextField(
        default="{}", help_text="What it was created with, without the agent; secrets encrypted"
    )
    base_state = models.TextField(default="", help_text="The SDK's base_state.json; secrets encrypted")
    info = models.TextField(
        default="", help_text="The wire's ConversationInfo as it was when the state was saved; secrets masked"
    )
    leaf_event_id = models.CharField(max_length=64, null=True, blank=True)
    next_sequence = models.PositiveIntegerField(default=0)

    # Run control. See intents.py for the rules.
    run_epoch = models.PositiveIntegerField(
        default=0, help_text="Counts claims; a writer with an old one is refused"
    )
    run_number = models.PositiveIntegerField(
        default=0, help_text="Counts runs; a stop names the run it means"
    )
    intent = models.BigIntegerField(
        null=True, blank=True, help_text="Number of the newest input with run intent that no run has seen"
    )
    queue = models.CharField(
        max_length=64,
        default="default",
        help_text="The engine's queue, from which runners with its disk take",
    )
    begun_run = models.PositiveIntegerField(default=0, help_text="The newest run that has made a step")
    stop_run = models.PositiveIntegerField(default=0, help_text="The run that the newest stop means")
    stop_kind = models.CharField(max_length=16, blank=True, default="", help_text="pause or interrupt")
    goal = models.TextField(default="", blank=True, help_text="JSON: the newest goal, if one was set")
    runner = models.CharField(
        max_length=64, blank=True, default="", help_text="The process that holds it, if any"
    )
    heartbeat_at = models.DateTimeField(null=True, blank=True)

    objects = cast(ConversationQuerySet, ConversationQuerySet.as_manager())
    if TYPE_CHECKING:
        events: EventQuerySet
        tallies: models.QuerySet["EventTally"]

    class Meta:
        indexes = [
            models.Index(fields=["created_at", "id"]),
            models.Index(fields=["updated_at", "id"]),
            models.Index(fields=["status", "created_at", "id"]),
            models.Index(fields=["status", "updated_at", "id"]),
            models.Index(fields=["owner", "updated_at", "id"]),
            # Few rows are asked for a run at a time; to look at all of them would read whole states.
            models.Index(fields=["intent"], name="conversation_asked", condition=Q(intent__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)

    @property
    def group(self) -> str:
        """The name under which its events ring."""
        return group_of(self.id)


def group_of(conversation_id: uuid.UUID) -> str:
    return f"conversation.{conversation_id.hex}"


class Event(models.Model):
    """One event, immutable. ``payload`` is the wire form as the SDK wrote it."""

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="events", db_index=False)
    sequence = models.PositiveIntegerField(help_text="0, 1, 2 ... within the conversation")
    event_id = models.CharField(max_length=64)
    kind = models.CharField(max_length=64)
    source = models.CharField(max_length=32)
    timestamp = models.CharField(
        max_length=26, help_text="Server-local time, ISO with microseconds, as on the wire"
    )
    body = models.TextField(blank=True, default="", help_text="What a body search looks at")
    payload = models.TextField()

    objects = cast(EventQuerySet, EventQuerySet.as_manager())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "sequence"], name="event_sequence"),
            models.UniqueConstraint(fields=["conversation", "event_id"], name="event_id_in_conversation"),
        ]
        indexes = [
            models.Index(fields=["conversation", "kind", "sequence"]),
            models.Index(fields=["conversation", "source", "sequence"]),
            models.Index(fields=["conversation", "timestamp"]),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.sequence}"


class ConversationTally(models.Model):
    """How many conversations of an owner have a status: the sum of their rows. Kept by triggers alone.

    On SQLite each has one row. On PostgreSQL every change is a row of its own, so that no process waits for
    another, until ``tallies.fold`` adds it to the one that is ``folded``.
    """

    EVERYBODY = 0

    owner = models.BigIntegerField(help_text="A user's id, which may be gone; 0 for all conversations")
    status = models.CharField(max_length=32)
    count = models.IntegerField()
    folded = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "status"], condition=Q(folded=True), name="conversation_tally"
            )
        ]
        indexes = [
            models.Index(fields=["owner", "status"], name="conversation_tally_rows"),
            models.Index(fields=["id"], condition=Q(folded=False), name="conversation_tally_changes"),
        ]

    def __str__(self) -> str:
        return f"{self.count} {self.status}"


class EventTally(models.Model):
    """How many events of a kind and source a conversation has. Kept by triggers alone."""

    pk = models.CompositePrimaryKey("conversation_id", "kind", "source")
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="tallies", db_index=False)
    kind = models.CharField(max_length=64)
    source = models.CharField(max_length=32)
    count = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.count} {self.kind} by {self.source}"


class Command(models.Model):
    """Something asked of a conversation that its runner has yet to do, in order of ``number``.

    Written before it is acknowledged, deleted in the transaction that records its effect: so it
    is carried out once, whatever crashes.
    """

    number = models.BigAutoField(primary_key=True)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="commands", db_index=False)
    kind = models.CharField(max_length=32)
    payload = models.TextField(help_text="JSON, encrypted: it may hold secrets")
    run = models.BooleanField(default=False, help_text="Whether it asks for a run")
    failure = models.TextField(
        blank=True, default="", help_text="JSON: why it could not be carried out, for who waits elsewhere"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["conversation", "number"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"
