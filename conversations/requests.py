"""Request bodies that the SDK has no model for. Import after ``sdk.require()``."""

from typing import Annotated, Any
from uuid import UUID

from openhands.sdk.conversation.types import ConversationTags
from openhands.sdk.secret import SecretSource
from openhands.sdk.security.analyzer import SecurityAnalyzerBase
from openhands.sdk.security.confirmation_policy import ConfirmationPolicyBase
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


def _strings(value: Any) -> Any:
    """The SDK's tag validator meets values that are no strings with a TypeError."""
    if isinstance(value, dict) and all(isinstance(item, str) for pair in value.items() for item in pair):
        return value
    if value is None:
        return value
    raise ValueError("Tags are an object of strings")


class UpdateConversation(BaseModel):
    title: Title | None = None
    tags: ConversationTags | None = None
    _tags = field_validator("tags", mode="before")(_strings)


class ForkConversation(BaseModel):
    id: UUID | None = None
    title: Title | None = None
    tags: ConversationTags | None = None
    reset_metrics: bool = True
    from_event_id: str | None = None
    _tags = field_validator("tags", mode="before")(_strings)


class Navigate(BaseModel):
    event_id: str | None = None


class Confirmation(BaseModel):
    accept: bool
    reason: str = "User rejected the action."


class UpdateSecrets(BaseModel):
    secrets: dict[str, SecretSource]

    @field_validator("secrets", mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        """A plain string is a static secret; ``{"value": ...}`` without a kind as well."""
        if not isinstance(value, dict):
            return value
        return {name: _source(secret) for name, secret in value.items()}


def _source(secret: Any) -> Any:
    if isinstance(secret, str):
        return {"kind": "StaticSecret", "value": secret}
    if isinstance(secret, dict) and "kind" not in secret and "value" in secret:
        return {"kind": "StaticSecret", **secret}
    return secret


class SetPolicy(BaseModel):
    policy: ConfirmationPolicyBase


class SetAnalyzer(BaseModel):
    security_analyzer: SecurityAnalyzerBase | None


class SwitchLLM(BaseModel):
    llm: dict[str, Any]


class SwitchProfile(BaseModel):
    profile_name: str


class SwitchModel(BaseModel):
    model: str


class LoadPlugin(BaseModel):
    model_config = ConfigDict(extra="ignore")
    plugin_ref: str


class AskAgent(BaseModel):
    question: str


class StartGoal(BaseModel):
    objective: str
    max_iterations: int = Field(default=10, ge=1)
