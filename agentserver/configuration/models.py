"""What the server keeps for its user: settings, secrets, profiles and connections.

Every row has an owner; none is the operator, who holds the session keys. JSON columns hold the
SDK's own documents with each secret in them encrypted (see ``sealing``).
"""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q


class Owned(models.Model):
    """Something that belongs to one user, or to the operator."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )

    class Meta:
        abstract = True


class Named(Owned):
    """Something with a name that is unique for its owner."""

    name = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name


def _unique(model: str, field: str) -> list[models.UniqueConstraint]:
    """``field`` once per owner; the operator, whose owner is NULL, needs a constraint of its own."""
    return [
        models.UniqueConstraint(fields=["owner", field], name=f"{model}_{field}_of_user"),
        models.UniqueConstraint(fields=[field], condition=Q(owner=None), name=f"{model}_{field}_of_operator"),
    ]


class Settings(Owned):
    """One per owner. Its row is locked by every write of that owner, so that none is lost."""

    key: ClassVar[int] = 1
    single = models.PositiveSmallIntegerField(default=key, editable=False)
    agent = models.TextField(
        default="",
        blank=True,
        help_text="JSON: the SDK's agent settings; secrets encrypted",
    )
    conversation = models.TextField(default="", blank=True, help_text="JSON: the SDK's conversation settings")
    misc = models.TextField(default="{}", help_text="JSON of clients, kept without being understood")
    active_profile = models.CharField(max_length=64, null=True, blank=True)
    active_agent_profile_id = models.UUIDField(null=True, blank=True)
    active_meta_profile = models.CharField(max_length=64, null=True, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = _unique("settings", "single")
        verbose_name_plural = "settings"

    def __str__(self) -> str:
        return "Settings"


class Secret(Named):
    """A named value that conversations may use."""

    value = models.TextField(help_text="Encrypted")
    description = models.TextField(null=True, blank=True)

    class Meta:
        constraints = _unique("secret", "name")


class LLMProfile(Named):
    """A saved language model: how to reach it, and its key."""

    body = models.TextField(help_text="JSON: the SDK's LLM; secrets encrypted")
    connection_id = models.CharField(
        max_length=128, null=True, blank=True, help_text="The shared connection it uses"
    )

    class Meta:
        constraints = _unique("llm_profile", "name")


class AgentProfile(Named):
    """A saved way to launch an agent. It holds references and no secret."""

    profile_id = models.UUIDField()
    revision = models.PositiveIntegerField(default=0)
    body = models.TextField(help_text="JSON: the SDK's agent profile")

    class Meta:
        constraints = [
            *_unique("agent_profile", "name"),
            *_unique("agent_profile", "profile_id"),
        ]


class MetaProfile(Named):
    """A saved rule for choosing among LLM profiles."""

    body = models.TextField(help_text="JSON: the SDK's meta-profile")

    class Meta:
        constraints = _unique("meta_profile", "name")


class ProviderConnection(Owned):
    """A key and an address that several LLM profiles share. Times are Unix seconds, as on the wire."""

    connection_id = models.CharField(max_length=128)
    display_name = models.CharField(max_length=128)
    provider = models.CharField(max_length=128, default="custom")
    api_key = models.TextField(help_text="Encrypted")
    base_url = models.TextField(null=True, blank=True)
    created_at = models.BigIntegerField()
    updated_at = models.BigIntegerField()

    class Meta:
        constraints = _unique("connection", "connection_id")

    def __str__(self) -> str:
        return self.display_name
