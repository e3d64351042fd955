"""Answers that no model of the agent SDK describes, as small models of their own."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel


class Error(BaseModel):
    """Every answer of 400 and above, but 422."""

    detail: str
    code: str


class Invalid(BaseModel):
    """422: what is wrong and where. The refused value is not repeated."""

    class Item(BaseModel):
        loc: list[str | int]
        msg: str
        type: str

    detail: list[Item]
    code: str = "invalid"


class Status(BaseModel):
    status: str
    message: str | None = None


class ServerInfo(BaseModel):
    uptime: float
    idle_time: float
    title: str
    version: str
    implementation: str
    implementation_version: str
    sdk_version: str
    tools_version: str
    workspace_version: str
    build_git_sha: str
    build_git_ref: str
    python_version: str
    usable_tools: list[str]
    runtime_idle_timeout_seconds: float | None
    conversation_runtime: Literal["local"]
    available_conversation_runtimes: list[str]
    capabilities: list[str]
    app_backend_ingress_url: str | None
    max_foreground_terminal_timeout_seconds: float | None
    docs: str
    redoc: str


class Success(BaseModel):
    success: bool = True


class ConversationInfo(BaseModel):
    """A conversation without its events. Secrets are masked."""

    id: UUID
    title: str | None = None
    execution_status: str
    agent: dict[str, Any]
    workspace: dict[str, Any]
    confirmation_policy: dict[str, Any]
    security_analyzer: dict[str, Any] | None = None
    max_iterations: int
    stats: dict[str, Any]
    metrics: dict[str, Any] | None = None
    tags: dict[str, str] = {}
    created_at: datetime
    updated_at: datetime


class ConversationPage(BaseModel):
    items: list[ConversationInfo]
    next_page_id: str | None = None


class EventPage(BaseModel):
    """``items``: events; each ``kind`` has fields of its own."""

    items: list[dict[str, Any]]
    next_page_id: str | None = None


class FinalResponse(BaseModel):
    response: str


class Answer(BaseModel):
    response: str


class BashCommand(BaseModel):
    id: str
    timestamp: datetime
    kind: Literal["BashCommand"]
    command: str
    cwd: str | None
    timeout: int


class BashOutput(BaseModel):
    id: str
    timestamp: datetime
    kind: Literal["BashOutput"]
    command_id: str
    order: int
    exit_code: int | None
    stdout: str | None
    stderr: str | None


class BashEventPage(BaseModel):
    items: list[BashCommand | BashOutput]
    next_page_id: str | None = None


class Upload(BaseModel):
    file: bytes


class GitChange(BaseModel):
    status: Literal["ADDED", "DELETED", "MOVED", "UPDATED"]
    path: str


class Path(BaseModel):
    path: str
    name: str


class PathPage(BaseModel):
    items: list[Path]
    next_page_id: str | None = None
