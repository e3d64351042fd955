"""Deferred initialisation: a server that starts before it is known whose it will be.

With ``OH_DEFERRED_INIT`` it answers 503 until ``POST /api/init`` brings keys and the rest, once.
The ``OH_SECRET_KEY`` it was started with, in ``X-Init-API-Key``, allows that. Nothing of it is
stored: after a restart the server waits again.
"""

import functools
import hmac
import os
import threading
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from agentserver import conf

PATH = "/api/init"
HEADER = b"x-init-api-key"
NotEmpty = Annotated[str, StringConstraints(min_length=1)]

_lock = threading.Lock()
_done = False


class InitRequest(BaseModel):
    """The body of ``POST /api/init``; what is left out keeps its value."""

    model_config = ConfigDict(extra="forbid")

    session_api_keys: list[NotEmpty] | None = None
    secret_key: SecretStr | None = None
    previous_secret_keys: list[SecretStr] | None = None
    allow_cors_origins: list[str] | None = None
    webhooks: list[conf.WebhookSpec] | None = None
    max_concurrent_runs: int | None = Field(None, ge=1)
    web_url: str | None = None
    conversations_path: Path | None = None
    conversation_worktree_root: Path | None = None
    bash_events_dir: Path | None = None
    telemetry: dict[str, Any] | None = None
    env: dict[str, str] | None = None


class InitStatus(BaseModel):
    """``state``: dormant or ready."""

    state: str
    error: str | None = None


def dormant() -> bool:
    return conf.current().deferred_init and not _done


def may_ask(scope: dict[str, Any]) -> bool | None:
    """Whether this caller of ``/api/init`` is let in; None: the usual keys decide.

    Reading the state is open, as whoever starts the server polls it.
    """
    if not conf.current().deferred_init or scope["path"].rstrip("/") != PATH:
        return None
    if scope["method"] in ("GET", "HEAD"):
        return True
    expected = _boot_key()
    if expected is None:
        return None
    given = [value for name, value in scope["headers"] if name == HEADER]
    return len(given) == 1 and hmac.compare_digest(given[0], expected.encode("utf-8", "surrogateescape"))


@functools.cache
def _boot_key() -> str | None:
    """The secret key of the start; initialising may set another."""
    return conf.current().secret_key


def status() -> InitStatus:
    return InitStatus(state="dormant" if dormant() else "ready")


def initialize(request: InitRequest) -> bool:
    """Take ``request`` over, once; False if that has happened before. Any thread may call."""
    global _done
    with _lock:
        if not dormant():
            return False
        _apply(request)
        _done = True
        return True


def _apply(request: InitRequest) -> None:
    from agentserver import sdk

    _boot_key()
    configuration = conf.current()
    for name in request.model_fields_set:
        value = getattr(request, name)
        if value is not None and name in type(configuration).model_fields:
            setattr(configuration, name, _plain(value))
    os.environ.update(request.env or {})
    sdk.cipher.cache_clear()


def _plain(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return [_plain(item) for item in value] if isinstance(value, list) else value
