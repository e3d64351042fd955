"""Request bodies of the OpenAI-compatible routes, as lenient as clients are."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

Role = Literal["system", "developer", "user", "assistant", "tool"]


class Part(BaseModel):
    type: str
    text: str | None = None
    image_url: Any = None


class ChatMessage(BaseModel):
    role: Role
    content: str | list[Part] | None = None


class StreamOptions(BaseModel):
    include_usage: bool = False


class ChatBody(BaseModel):
    model: str
    messages: Annotated[list[ChatMessage], Field(max_length=10_000)]
    stream: bool = False
    stream_options: StreamOptions | None = None


class ResponseBody(BaseModel):
    model: str
    input: str | Annotated[list[ChatMessage], Field(max_length=10_000)]
    instructions: str | None = None
    metadata: dict[str, str] | None = None
    previous_response_id: str | None = None
    store: bool = False
    stream: bool = False
