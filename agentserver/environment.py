"""The environment of child processes: the server's own, without the server's secrets."""

import contextlib
import ctypes
import os
import re
from collections.abc import Iterable
from pathlib import Path

from agentserver import conf

_SECRET_NAMES = re.compile(
    r"OH_SESSION_API_KEYS(_.*)?|SESSION_API_KEY|OH_SECRET_KEY|OH_METRICS_TOKEN|OH_OTEL_HEADERS|SENTRY_DSN|OH_PREVIOUS_SECRET_KEYS(_.*)?|OH_WEBHOOKS(_.*)?"
    r"|DATABASE_URL|REDIS_URL|PGPASSWORD|PGPASSFILE|SECRET_KEY|DJANGO_\w*(SECRET|PASSWORD|KEY)\w*"
)
_LONG = 12
"""Characters from which on a secret is also looked for inside other values."""


def child_environment() -> dict[str, str]:
    """A copy for a process that runs other people's commands: agents, shells, hooks, editors.

    Left out are the variables that hold a secret by their name, and every other one whose value is
    or contains a secret of the configuration. Any thread.
    """
    secrets = [value for value in _secrets() if value]
    return {name: value for name, value in os.environ.items() if not _is_secret(name, value, secrets)}


def withdraw() -> None:
    """Take the secrets out of this process's environment, once the configuration has been read.

    Children that inherit it see none, and ``/proc/<pid>/environ`` shows none either: the block
    that the kernel keeps there is overwritten. Not to be undone; call it where the server starts,
    not where it may start another that needs them.
    """
    secrets = [value for value in _secrets() if value]
    found = {name for name, value in os.environ.items() if _is_secret(name, value, secrets)}
    _overwrite(found)
    for name in found:
        del os.environ[name]


def _is_secret(name: str, value: str, secrets: Iterable[str]) -> bool:
    if _SECRET_NAMES.fullmatch(name):
        return True
    return any(value == secret or (len(secret) >= _LONG and secret in value) for secret in secrets)


def _secrets() -> list[str | None]:
    configuration = conf.current()
    return [
        *configuration.session_api_keys,
        *configuration.previous_secret_keys,
        configuration.secret_key,
        configuration.metrics_token,
        configuration.sentry_dsn,
        *configuration.otel_headers.values(),
        configuration.database_url,
        configuration.redis_url,
        *(hook.secret for hook in configuration.webhooks),
        *_long_headers(configuration),
    ]


def _long_headers(configuration: conf.Configuration) -> list[str]:
    """Header values of webhooks that may be keys; a short one would take unrelated variables along."""
    values = [value for hook in configuration.webhooks for value in hook.headers.values()]
    return [value for value in values if len(value) >= _LONG]


def _overwrite(names: set[str]) -> None:
    """Overwrite the values of ``names`` in the block the kernel shows; Linux only.

    The block lies between two addresses that ``/proc/self/stat`` gives, in this process's memory.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = int(fields[47]), int(fields[48])  # env_start, env_end: fields 50 and 51 of the line
        if not 0 < start < end:
            return
        block = ctypes.string_at(start, end - start)
        position = 0
        for entry in block.split(b"\0"):
            name, equals, value = entry.partition(b"=")
            if equals and name.decode(errors="surrogateescape") in names:
                ctypes.memset(start + position + len(name) + 1, ord("*"), len(value))
            position += len(entry) + 1
