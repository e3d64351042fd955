"""Bash commands and their outputs, one table: what the wire calls bash events."""

from django.db import models
from django.db.models import Q

from bashevents.querysets import BashEventQuerySet

GROUP = "bash"
"""The group under which the events of ``/api/bash`` ring."""


class Kind(models.TextChoices):
    """What an event is, with the wire's names."""

    COMMAND = "BashCommand"
    OUTPUT = "BashOutput"


class BashEvent(models.Model):
    """One event, in its wire form. The primary key is the total order that all readers share.

    Text of commands and outputs stands in ``payload`` only, as JSON, because a text column of
    PostgreSQL cannot hold the NUL characters that programs print.
    """

    id = models.BigAutoField(primary_key=True)
    event_id = models.UUIDField(unique=True, editable=False)
    conversation_id = models.UUIDField(
        null=True, editable=False, help_text="None: the shell of the server itself"
    )
    kind = models.CharField(max_length=16, choices=Kind)
    timestamp = models.DateTimeField()
    command_id = models.UUIDField(help_text="The command it belongs to; for a command its own id")
    order = models.PositiveIntegerField(null=True, help_text="Outputs: 0, 1, 2 ... within the command")
    exit_code = models.IntegerField(null=True, help_text="Set on the last output of a command")
    size = models.PositiveIntegerField(help_text="Characters of the payload")
    payload = models.TextField()

    # Commands only
    runner = models.CharField(
        max_length=128, blank=True, default="", help_text="The process that runs it; blank: it has ended"
    )
    deadline = models.DateTimeField(null=True, help_text="By then it has ended, if its runner still lives")
    finished_at = models.DateTimeField(null=True)

    objects = BashEventQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["conversation_id", "timestamp", "id"], name="bash_scope_time"),
            models.Index(fields=["conversation_id", "kind", "timestamp", "id"], name="bash_scope_kind_time"),
            models.Index(fields=["command_id", "order"], name="bash_command_order"),
            models.Index(fields=["timestamp", "id"], name="bash_time"),
            models.Index(fields=["runner"], name="bash_running", condition=~Q(runner="")),
            # Also without reading rows: which of them failed.
            models.Index(
                fields=["timestamp", "id", "exit_code"],
                name="bash_ended",
                condition=Q(exit_code__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.event_id.hex}"
