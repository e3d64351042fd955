"""What this installation has and lacks, found out from outside of a running server.

`/ready` tells a running server's state (``health``); this is for whoever sets one up. Sentences say
what to do. They name settings and never show a value of one that may be secret.
"""

import os
import platform
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Literal

from django.db import connection

from agentserver import conf, keys, migrating, sdk
from agentserver.observability import disk, health

Level = Literal["ok", "note", "bad"]
"""note: what one may want to know or change; bad: what must be mended."""
SHORTEST_KEY = 16
"""Characters; a shorter session key can be guessed."""
PROGRAM_SECONDS = 10.0
REDIS_SECONDS = 2.0
FEWEST_HANDLES = 1024
"""Open files: each socket, each command and each conversation with a terminal takes some."""
SAMPLE = 100
"""Stored secrets that are tried with the key."""


@dataclass(frozen=True, slots=True)
class Finding:
    level: Level
    part: str
    says: str


def python() -> Iterator[Finding]:
    yield Finding("ok", "Python", platform.python_version())


def agent_sdk() -> Iterator[Finding]:
    sdk.load()
    yield Finding("ok", "agent SDK", metadata.version("openhands-sdk"))


def configuration() -> Iterator[Finding]:
    unknown = sorted(name for name in os.environ if name.startswith("OH_") and not _is_setting(name))
    if unknown:
        names = ", ".join(unknown)
        yield Finding("note", "settings", f"{names}: no setting of this server. Is it misspelt?")
    else:
        yield Finding("ok", "settings", "They can be read.")


def _is_setting(name: str) -> bool:
    rest = name.removeprefix("OH_").lower()
    return rest in conf.Configuration.model_fields or any(
        re.fullmatch(rf"{field}_\d+(_\w+)?", rest) for field in conf.Configuration.model_fields
    )


def access() -> Iterator[Finding]:
    given = conf.current().session_api_keys
    if not given and conf.current().insecure:
        sentence = "None, and OH_INSECURE is set: whoever reaches the server may run commands on it."
        yield Finding("note", "keys", sentence)
    elif not given:
        sentence = "None: the server is for this machine only. Set OH_SESSION_API_KEYS_0."
        yield Finding("note", "keys", sentence)
    elif min(map(len, given)) < SHORTEST_KEY:
        yield Finding(
            "note", "keys", f"A session key is shorter than {SHORTEST_KEY} characters. Choose a longer one."
        )
    else:
        yield Finding("ok", "keys", f"{len(given)} session key(s) set.")


def secret_key() -> Iterator[Finding]:
    if conf.current().secret_key:
        yield Finding("ok", "secret key", "OH_SECRET_KEY is set.")
        return
    path = conf.current().persistence_dir / "secret_key"
    keys.installation_key()
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield Finding("bad", "secret key", f"Others may read {path}. Run: chmod 600 {path}")
    else:
        sentence = f"It lies in {path}, beside what it protects. In production set OH_SECRET_KEY."
        yield Finding("note" if conf.current().session_api_keys else "ok", "secret key", sentence)


def database() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    kind = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}.get(connection.vendor, connection.vendor)
    if not migrating.missing():
        yield Finding("ok", "database", f"{kind} answers, its tables are those of this version.")
    elif connection.vendor == "sqlite":
        yield Finding("ok", "database", f"{kind} answers; `agentserver serve` brings its tables up to date.")
    else:
        yield Finding("bad", "database", f"{kind} answers, but tables are missing. Run: agentserver migrate")


def secrets_at_rest() -> Iterator[Finding]:
    """Whether today's keys open what is stored."""
    if migrating.missing():
        return
    from agentserver.configuration.models import Secret

    values = list(Secret.objects.order_by("-pk").values_list("value", flat=True)[:SAMPLE])
    if not values:
        return
    closed = sum(sdk.decrypt(value) is None for value in values)
    if closed:
        sentence = (
            f"{closed} of {len(values)} stored secrets cannot be opened: they count as unset. "
            "Set OH_SECRET_KEY to the key they were stored with, or name it in OH_PREVIOUS_SECRET_KEYS_0."
        )
        yield Finding("bad", "secrets", sentence)
    else:
        yield Finding("ok", "secrets", "The secret key opens what is stored.")


def redis() -> Iterator[Finding]:
    url = conf.current().redis_url
    if not url:
        if connection.vendor == "postgresql":
            sentence = (
                "Without REDIS_URL one process may serve, no more: the others would not be told of events."
            )
            yield Finding("note", "Redis", sentence)
        return
    import redis as client

    with client.Redis.from_url(
        url, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
    ) as connected:
        connected.ping()
    yield Finding("ok", "Redis", "It answers.")


def data() -> Iterator[Finding]:
    directory = conf.current().persistence_dir
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=directory):
        pass
    free = disk.free_bytes()
    told = f"{directory}: {free / 1024**3:.1f} GiB are free."
    if free < health.FULL:
        yield Finding("bad", "data", f"{told} Nothing can be written: free some space.")
    elif free < health.LOW:
        yield Finding(
            "note", "data", f"{told} Free some, for example with: agentserver prune --older-than 7d"
        )
    else:
        yield Finding("ok", "data", told)


def git() -> Iterator[Finding]:
    return _program("git", ["--version"], "Changes, worktrees and skills of repositories need it", "bad")


def tmux() -> Iterator[Finding]:
    return _program("tmux", ["-V"], "Terminals of agents fall back to a plainer kind without it", "note")


def _program(name: str, words: list[str], needed: str, missing: Level) -> Iterator[Finding]:
    path = shutil.which(name)
    if path is None:
        yield Finding(missing, name, f"It is not installed. {needed}. For example: apt-get install {name}")
        return
    asked = subprocess.run(
        [path, *words], capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=False
    )
    if asked.returncode:
        yield Finding(missing, name, f"{path} does not run: {asked.stderr.strip()[:200]}")
    else:
        yield Finding("ok", name, asked.stdout.strip())


def handles() -> Iterator[Finding]:
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < FEWEST_HANDLES:
        yield Finding("note", "open files", f"At most {soft} may be open. Raise it: ulimit -n 4096")
    else:
        yield Finding("ok", "open files", f"{soft} may be open.")


def extras() -> Iterator[Finding]:
    """Packages that a setting asks for."""
    for wanted, module, extra in (
        (conf.current().sentry_dsn, "sentry_sdk", "sentry"),
        (conf.current().otel_endpoint, "opentelemetry.exporter.otlp.proto.http", "otel"),
    ):
        if wanted and not _installed(module):
            yield Finding(
                "bad", extra, f"A setting asks for it, but it is not installed. Run: uv sync --extra {extra}"
            )
        elif wanted:
            yield Finding("ok", extra, "It is set and installed.")


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


CHECKS: dict[str, Callable[[], Iterator[Finding]]] = {
    "Python": python,
    "settings": configuration,
    "data": data,
    "keys": access,
    "secret key": secret_key,
    "database": database,
    "agent SDK": agent_sdk,
    "secrets": secrets_at_rest,
    "Redis": redis,
    "git": git,
    "tmux": tmux,
    "open files": handles,
    "extras": extras,
}
WHERE = {
    "data": "Give a directory that you may write to: --data DIR, or OH_PERSISTENCE_DIR.",
    "database": "Look at DATABASE_URL, and whether the server there is up.",
    "Redis": "Look at REDIS_URL, and whether the server there is up.",
    "agent SDK": "Install the package again.",
}
"""What to do about a check that fails."""


def findings() -> Iterator[Finding]:
    """All of them, in order; a check that fails is bad itself. Imports the agent SDK: some seconds."""
    for name, check in CHECKS.items():
        try:
            yield from check()
        except Exception as error:
            yield Finding("bad", name, f"It cannot be used ({_reason(error)}). {WHERE.get(name, '')}".strip())


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200].rstrip(".")
