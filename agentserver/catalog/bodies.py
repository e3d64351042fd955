"""Request bodies of the catalogue."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

Source = Annotated[str, Field(min_length=1, max_length=4096)]
Seconds = Annotated[float, Field(gt=0, le=120)]


class ExposedUrl(BaseModel):
    name: str
    url: str
    port: int


class SandboxConfig(BaseModel):
    exposed_urls: Annotated[list[ExposedUrl], Field(max_length=1000)] = []


class OrgConfig(BaseModel):
    repository: str
    provider: str
    org_repo_url: str
    org_name: str


class Marketplace(BaseModel):
    name: str
    source: str
    ref: str | None = None
    repo_path: str | None = None
    auto_load: bool | list[str] = False


class SkillsBody(BaseModel):
    load_public: bool = True
    load_user: bool = True
    load_project: bool = True
    load_org: bool = True
    marketplace_path: str | None = "marketplaces/default.json"
    project_dir: str | None = None
    org_configs: Annotated[list[OrgConfig], Field(max_length=10)] | None = None
    sandbox_config: SandboxConfig | None = None
    registered_marketplaces: Annotated[list[Marketplace], Field(max_length=10)] = []


class InstallBody(BaseModel):
    source: Source
    ref: str | None = None
    repo_path: str | None = None
    force: bool = False


class StateBody(BaseModel):
    enabled: bool


class FetchBody(BaseModel):
    source: Source
    ref: str | None = None
    repo_path: str | None = None
    secrets: dict[str, Any] = {}
    timeout: Annotated[int, Field(ge=1, le=600)] = 60


class HooksBody(BaseModel):
    project_dir: str | None = None


class ProjectBody(BaseModel):
    load_user: bool = True
    load_project: bool = True
    load_builtin: bool = True
    project_dir: str | None = None


class DeviceBody(BaseModel):
    device_code: str


class ToolCall(BaseModel):
    name: Annotated[str, Field(min_length=1)]
    arguments: dict[str, Any] = {}


class MCPTestBody(BaseModel):
    server: dict[str, Any]
    name: Annotated[str, Field(min_length=1, max_length=128)] = "test-server"
    timeout: Seconds = 15
    tool_call: ToolCall | None = None


class CallbackBody(BaseModel):
    callback_url: Annotated[str, Field(min_length=1, max_length=16384)]


class ACPBody(BaseModel):
    agent_settings: dict[str, Any]
    secrets: dict[str, Any] = {}
    refresh: bool = False
