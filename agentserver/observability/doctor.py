"""What this installation has and lacks, found out from outside of a running server.

`/ready` tells a running server's state (``health``); this is for whoever sets one up.
"""

import importlib.metadata
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from django.conf import settings
from django.db import connection

from agentserver import conf, migrating, sdk
from agentserver.observability import disk, health

REDIS_SECONDS = 3.0
"""What Redis may take to answer."""
TOOLS = {
    "git": "changes and commits of workspaces are empty without it",
    "tmux": "terminals of agents fall back to a plainer one without it",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """``level``: ok; note, for what one may want to know; bad, for what must be mended."""

    level: Literal["ok", "note", "bad"]
    part: str
    says: str


class Bad(Exception):
    """Something that must be mended; its text says how."""


def findings() -> Iterator[Finding]:
    """All of them, in order. Imports the agent SDK: some seconds."""
    yield Finding("ok", "Python", platform.python_version())
    yield from _asked("data", _data)
    yield from _asked("database", _database)
    yield from _asked("Redis", _redis)
    yield from _asked("agent SDK", _agent_sdk)
    for tool, without in TOOLS.items():
        path = shutil.which(tool)
        yield Finding("ok", tool, path) if path else Finding("note", tool, f"not found: {without}")
    yield from _access()


def _asked(part: str, check: Callable[[], str]) -> Iterator[Finding]:
    try:
        yield Finding("ok", part, check())
    except Bad as bad:
        yield Finding("bad", part, str(bad))
    except Exception as error:
        yield Finding("bad", part, f"It cannot be used ({type(error).__name__}). {_where(part)}")


def _where(part: str) -> str:
    return {
        "data": "Give a directory that you may write to: --data DIR.",
        "database": "Look at DATABASE_URL, and whether the server there is up.",
        "Redis": "Look at REDIS_URL, and whether the server there is up.",
    }.get(part, "Install the package again.")


def _data() -> str:
    directory = conf.current().persistence_dir
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=directory):
        pass
    free = disk.free_bytes()
    if free < health.FULL:
        raise Bad(f"{directory}: the disk is full. Free some space.")
    return f"{directory}, {free / 1024**3:.1f} GiB free{' (little)' if free < health.LOW else ''}"


def _database() -> str:
    missing = migrating.missing()
    if connection.vendor == "sqlite":
        return f"SQLite, {settings.DATABASES['default']['NAME']}{', made at the first start' * missing}"
    if missing:
        raise Bad("Tables are missing. Run: agentserver migrate")
    return f"PostgreSQL {connection.settings_dict['HOST']}/{connection.settings_dict['NAME']}"


def _redis() -> str:
    url = conf.current().redis_url
    if not url:
        return "not used: one process serves"
    import redis

    with redis.Redis.from_url(
        url, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
    ) as client:
        client.ping()
    return "answers"


def _agent_sdk() -> str:
    sdk.require()
    return importlib.metadata.version("openhands-sdk")


def _access() -> Iterator[Finding]:
    configuration = conf.current()
    if configuration.session_api_keys:
        yield Finding("ok", "keys", f"{len(configuration.session_api_keys)} session key(s) set")
    elif configuration.insecure:
        yield Finding("note", "keys", "none, and OH_INSECURE is set: whoever reaches it may run commands")
    else:
        yield Finding("note", "keys", "none: it serves this machine only; OH_SESSION_API_KEYS_0 sets one")
    if not configuration.secret_key:
        yield Finding(
            "note", "secrets", "encrypted with a key in the data directory; OH_SECRET_KEY keeps it apart"
        )
