"""Request bodies of this app that the SDK has no model for."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from rest_framework.request import Request

from agentserver.errors import invalid

Name = Annotated[str, Field(min_length=1, max_length=128)]
Url = Annotated[str, Field(max_length=2048)]


class SecretBody(BaseModel):
    name: str
    value: str
    description: str | None = None


class RenameBody(BaseModel):
    new_name: str


class SaveProfileBody(BaseModel):
    llm: dict[str, Any]
    include_secrets: bool = True


class ConnectionBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    display_name: Name
    provider: Name = "custom"
    api_key: Annotated[str, Field(min_length=1)]
    base_url: Url | None = None


class ConnectionChange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    display_name: Name | None = None
    provider: Name | None = None
    api_key: str | None = None
    base_url: Url | None = None


class MaterializeBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    profile: dict[str, Any] | None = None


def object_of(request: Request) -> dict[str, Any]:
    """The body as a JSON object. Raises Invalid (422)."""
    if not isinstance(request.data, dict):
        raise invalid(["body"], "Input should be an object", "dict_type")
    return request.data
