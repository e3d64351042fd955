"""Secrets out of texts that leave the server: lines of the log, reports of errors."""

import re
from typing import Any
from urllib.parse import urlsplit

from agentserver import conf

_NAMED = re.compile(
    r"(?P<name>(?:session[_-]?api[_-]?key|api[_-]?key|access[_-]?token|refresh[_-]?token|id[_-]?token|secret|password"
    r"|code|state)=)[^&\s\"']+",
    re.IGNORECASE,
)
"""As queries and forms have them."""
_BEARER = re.compile(r"(?P<name>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_INPUT = re.compile(r"input_value=.*?(?=, input_type=|\n|$)")
SHORTEST = 6
"""A shorter secret would blank ordinary words."""
MASK = "***"


def masked(text: str) -> str:
    """``text`` without secrets of the configuration, keys in queries, and input that was refused."""
    text = _INPUT.sub(f"input_value={MASK}", text)
    text = _BEARER.sub(rf"\g<name>{MASK}", _NAMED.sub(rf"\g<name>{MASK}", text))
    for secret in known():
        text = text.replace(secret, MASK)
    return text


def masked_deeply(value: Any) -> Any:
    """The same for every text in lists and objects."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {masked_deeply(key): masked_deeply(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked_deeply(item) for item in value]
    return value


def known() -> list[str]:
    """Secrets of the configuration, the longest first; the configuration may still change (``/api/init``)."""
    configuration = conf.current()
    secrets = [
        *configuration.session_api_keys,
        *configuration.previous_secret_keys,
        configuration.secret_key,
        configuration.metrics_token,
        _password(configuration.database_url),
        _password(configuration.redis_url),
        _password(configuration.sentry_dsn),
        *_hook_secrets(configuration),
        *configuration.otel_headers.values(),
    ]
    return sorted({s for s in secrets if s and len(s) >= SHORTEST}, key=len, reverse=True)


def _password(url: str | None) -> str | None:
    """What stands between the name and the host; of a DSN, which has no other, the name."""
    try:
        parts = urlsplit(url or "")
        return parts.password or (parts.username if parts.scheme.startswith("http") else None)
    except ValueError:
        return None


def _hook_secrets(configuration: conf.Configuration) -> list[str | None]:
    hooks = configuration.webhooks
    return [*(hook.secret for hook in hooks), *(value for hook in hooks for value in hook.headers.values())]
