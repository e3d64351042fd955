"""Our settings: name, type, default, unit and help, read from the environment.

Names are those of the reference server (``OH_*``) where it has them. A JSON file named by
``OPENHANDS_AGENT_SERVER_CONFIG_PATH`` holds the same settings without the prefix, in lower case;
the environment wins over it.
"""

import contextlib
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

MIB = 1024 * 1024
Level = Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(str.upper)]


HOUSE_QUEUE = "house"
"""The engine's queue of what is done once for all processes; every runner takes from it."""


class ConfigurationError(Exception):
    """A setting that cannot be used; its text says which one and what to do."""


class WebhookSpec(BaseModel):
    """A receiver of events and conversations; the reference's names and defaults. Times are seconds."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    base_url: str = Field(
        pattern="^https?://[^/]",
        description="Posts go to its /events/{id} and /conversations.",
    )
    headers: dict[str, str] = Field({}, description="Sent with every post.")
    secret: str | None = Field(None, description="Signs posts; without one there is no signature.")
    event_buffer_size: int = Field(
        5, ge=1, le=10_000, description="So many events are posted at once, and never more in one post."
    )
    flush_delay: float = Field(30, gt=0, description="No event waits longer for the buffer to fill.")
    num_retries: int = Field(
        3, ge=0, description="Repetitions of a failed post after retry_delay; the following come ever later."
    )
    retry_delay: float = Field(5, ge=0, description="Between a failed post and its first repetitions.")
    max_batch_bytes: int = Field(
        5 * MIB, ge=1, description="A post ends before the event that would make it larger."
    )
    max_queue_size: int = Field(1000, ge=1, description="Accepted and not needed: what waits are rows.")
    max_queue_bytes: int = Field(50 * MIB, ge=1, description="Accepted and not needed, likewise.")


class Configuration(BaseSettings):
    """All settings of the server. Units are in the names; times are seconds."""

    model_config = SettingsConfigDict(env_prefix="OH_", extra="ignore", hide_input_in_errors=True)

    # Where things live
    persistence_dir: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("agentserver", appauthor=False)),
        description="The data directory: database, keys and observations of tools.",
    )
    conversations_path: Path | None = Field(
        None, description="Directory for files that tools write beside a conversation."
    )
    workspace_path: Path | None = Field(None, description="Default directory for workspaces.")
    database_url: str | None = Field(
        None,
        validation_alias="DATABASE_URL",
        description="postgres://... or sqlite:///...; default SQLite in the data directory.",
    )
    redis_url: str | None = Field(
        None,
        validation_alias="REDIS_URL",
        description="redis://...; default: the in-memory channel layer of one process.",
    )

    channel_prefix: str = Field(
        "agentserver",
        description="What begins the names in Redis: servers with one of their own share nothing.",
    )

    # Who may come in
    session_api_keys: list[str] = Field([], description="Keys accepted in X-Session-API-Key.")
    metrics_token: str | None = Field(
        None, description="Opens /metrics alone, as Authorization: Bearer; beside the session keys."
    )
    metrics_port: int | None = Field(
        None,
        ge=1,
        le=65535,
        description="Where run_conversations shows /metrics; without a token, to this machine only.",
    )
    secret_key: str | None = Field(
        None, description="Encrypts secrets at rest; default: made once and kept in the data directory."
    )
    previous_secret_keys: list[str] = Field([], description="Older secret keys, still accepted for reading.")
    expose_encrypted_secrets: bool | None = Field(
        None,
        description="Answer X-Expose-Secrets: encrypted, which the Agent Canvas UI needs; default: where a "
        "secret key or a session key is set.",
    )
    allow_cors_origins: list[str] = Field([], description="Origins of web pages that may call the API.")
    allow_cors_origin_regex: str | None = Field(None, description="The same as a regular expression.")
    allowed_hosts: list[str] = Field(
        [], description="Names under which a server without keys may be called, beside those of this machine."
    )
    deferred_init: bool = Field(False, description="Answer 503 until POST /api/init has come.")
    cloud_proxy_origins: list[str] = Field(
        ["https://app.all-hands.dev"], description="Origins that /api/cloud-proxy may call."
    )
    insecure: bool = Field(False, description="Allow listening beyond this machine without a key.")

    # Running conversations
    max_concurrent_runs: int = Field(
        10, ge=1, description="Conversations that run at once in this process: its lanes."
    )
    conversation_idle_ttl_seconds: float = Field(
        1200, gt=0, description="An idle conversation is unloaded from memory after this."
    )
    wrap_up_seconds: float = Field(
        30, gt=0, description="What the end of a run may take before it is abandoned."
    )
    runs_conversations: bool = Field(
        True, description="With an engine: whether `serve` is a runner too; --no-runner says no."
    )
    queue: str = Field(
        "default",
        max_length=1024,
        description="With an engine: the queue of the conversations that a server makes, or that a runner "
        "takes; runners of one queue share a disk. Several, with commas between them: a server spreads its "
        "conversations over them.",
    )
    runner_address: str | None = Field(
        None,
        pattern="^https?://[^/]+/?$",
        max_length=255,
        description="With an engine, where a runner's disk is its own: how web processes reach it for files, "
        "git and bash, such as http://10.0.0.7:8100. run_conversations listens on that port.",
    )
    max_queued_runs: int = Field(
        1000, ge=1, description="With an engine: runs that go on or wait in all runners; beyond it, 429."
    )
    runner_stalled_seconds: float = Field(
        6, ge=1, description="With an engine: a runner that shows no life for this long is taken for dead."
    )
    drain_seconds: float = Field(
        20,
        gt=0,
        description="With an engine: what a runner that ends lets its steps take before it cuts them off.",
    )
    crash_recovery: Literal["error", "resume"] = Field(
        "error", description="What becomes of a run that a crash cut off."
    )
    preload_tools: bool = Field(True, description="Register the agent's tools at start.")
    enable_vscode: bool = Field(True, description="Offer an editor where one is installed.")
    vscode_port: int = Field(8001, ge=1, le=65535, description="The editor's port.")

    # Limits
    max_body_bytes: int = Field(33 * MIB, description="Largest JSON request body.")
    max_upload_bytes: int = Field(4096 * MIB, description="Largest upload of a file.")
    max_sockets_per_user: int = Field(200, ge=1, description="Sockets a user who is not staff may hold open.")
    max_runs_per_user: int = Field(
        5, ge=1, description="Conversations of a user who is not staff that may run at once."
    )
    login_attempts_per_minute: int = Field(
        10, ge=1, description="Failed logins from an address, or for an account, before the next minute."
    )
    request_threads: int = Field(16, ge=2, description="Threads that answer requests.")
    slow_request_threads: int = Field(
        64, ge=2, description="Threads for requests that wait, such as execute_bash_command."
    )
    socket_backlog_bytes: int = Field(
        16 * MIB, description="Unsent data above which a slow socket is closed with 1013."
    )
    socket_send_timeout_seconds: float = Field(
        60, description="A socket that takes no data for this long is closed."
    )

    # Bash
    bash_events_retention_seconds: float | None = Field(
        None, description="Bash events older than this are pruned; none keeps all."
    )

    # Presentation
    static_files_path: Path | None = Field(None, description="A directory of web files served at /.")
    web_url: str | None = Field(None, description="The address under which a proxy shows this server.")
    log_level: Level = Field(
        "INFO", validation_alias="LOG_LEVEL", description="DEBUG, INFO, WARNING or ERROR."
    )
    sentry_dsn: str | None = Field(
        None,
        validation_alias="SENTRY_DSN",
        description="Where errors are reported to, in Sentry's protocol; none reports nothing.",
    )
    otel_endpoint: str | None = Field(
        None, description="Where traces of runs are sent to: the address of an OTLP collector over HTTP."
    )
    otel_headers: dict[str, str] = Field({}, description="Headers for it, as a JSON object.")
    log_format: Literal["text", "json"] = Field(
        "text", description="text for people, json for machines: one object a line."
    )
    access_log: bool = Field(False, description="Log a line for each request.")
    log_levels: dict[str, Level] = Field({}, description='Levels of single loggers: {"openhands": "INFO"}.')

    # Webhooks
    webhooks: list[WebhookSpec] = Field(
        [], description="The operator's receivers, OH_WEBHOOKS_0_BASE_URL and so on."
    )
    webhook_timeout_seconds: float = Field(30, gt=0, le=600, description="What one post may take.")
    webhook_max_posts: int = Field(16, ge=1, description="Posts of this process that are under way at once.")
    webhook_allow_private_addresses: bool = Field(
        False, description="Let webhooks of users call addresses that are not of the public internet."
    )
    webhook_disable_after_days: float = Field(
        5, gt=0, description="A webhook that has failed for so long is disabled."
    )
    webhook_keep_deleted_seconds: float = Field(
        86_400,
        ge=0,
        description="How long a deleted conversation waits for webhooks that have yet to hear.",
    )

    @property
    def queues(self) -> list[str]:
        """The names in ``queue``."""
        return [name for part in self.queue.split(",") if (name := part.strip()[:64])] or ["default"]

    @property
    def engine(self) -> bool:
        """Whether runs are jobs that any runner process may take: on PostgreSQL with Redis."""
        return bool(self.redis_url and (self.database_url or "").startswith(("postgres:", "postgresql:")))


_LIST_NAMES = (
    "SESSION_API_KEYS",
    "PREVIOUS_SECRET_KEYS",
    "ALLOW_CORS_ORIGINS",
    "ALLOWED_HOSTS",
    "CLOUD_PROXY_ORIGINS",
)


def read(environment: dict[str, str] | None = None) -> Configuration:
    """The configuration of ``environment`` (default: the process environment).

    Raises ConfigurationError with a sentence for a value that cannot be used.
    """
    environment = dict(os.environ) if environment is None else environment
    values: dict[str, Any] = _from_file(environment)
    for name in _LIST_NAMES:
        if (listed := _indexed(environment, f"OH_{name}_")) is not None:
            values[name.lower()] = listed
    if key := environment.get("SESSION_API_KEY"):
        values["session_api_keys"] = [*values.get("session_api_keys", []), key]
    # An empty key would let everybody in.
    values["session_api_keys"] = [k for k in values.get("session_api_keys", []) if k]
    if hooks := _indexed_objects(environment, "OH_WEBHOOKS_"):
        values["webhooks"] = hooks
    try:
        return Configuration(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ConfigurationError(f"Setting {name}: {first['msg']}. Correct it and start again.") from None


def _from_file(environment: dict[str, str]) -> dict[str, Any]:
    path = environment.get("OPENHANDS_AGENT_SERVER_CONFIG_PATH")
    if not path or not Path(path).exists():
        return {}
    try:
        values = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"The configuration file {path} cannot be read: {error}.") from None
    present = {name[3:].lower() for name in environment if name.startswith("OH_")}
    return {k: v for k, v in values.items() if k in Configuration.model_fields and k not in present}


def _indexed(environment: dict[str, str], prefix: str) -> list[str] | None:
    """The values of ``prefix0``, ``prefix1``, ... in order; None if there is none."""
    found = {
        int(n[len(prefix) :]): v
        for n, v in environment.items()
        if re.fullmatch(re.escape(prefix) + r"\d+", n)
    }
    return [found[index] for index in sorted(found)] if found else None


def _indexed_objects(environment: dict[str, str], prefix: str) -> list[dict[str, Any]]:
    """``prefix0_BASE_URL=...`` and so on as a list of objects with lower-case keys."""
    found: dict[int, dict[str, Any]] = {}
    for name, value in environment.items():
        if match := re.fullmatch(re.escape(prefix) + r"(\d+)_(\w+)", name):
            found.setdefault(int(match[1]), {})[match[2].lower()] = (
                _json_object(name, value) if match[2] == "HEADERS" else value
            )
    return [found[index] for index in sorted(found)]


def _json_object(name: str, text: str) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        if isinstance(value := json.loads(text), dict):
            return value
    raise ConfigurationError(f'Setting {name}: give a JSON object such as {{"X-Name": "value"}}.')


def require_directory(path: Path) -> None:
    """Make the data directory if it is not there. Raises ConfigurationError where it cannot be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        usable = os.access(path, os.W_OK)
    except OSError:
        usable = False
    if not usable:
        raise ConfigurationError(
            f"The data directory {path} cannot be made or written. "
            "Change its owner, or set OH_PERSISTENCE_DIR."
        )


@cache
def current() -> Configuration:
    """The configuration of this process, read once."""
    return read()
