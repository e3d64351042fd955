"""Which web pages (origins) may use the API, and which names (hosts) this machine goes by."""

import functools
import ipaddress
import os
import re
from typing import Any
from urllib.parse import urlsplit

from agentserver import conf
from agentserver.front.answers import header

LOCAL_HOSTS = {"localhost", "127.0.0.1"}
LOOPBACK = {*LOCAL_HOSTS, "::1"}

# These show workspace files inside other sites' pages; they need a key or the cookie all the same.
_EMBEDDED = re.compile(r"/api/(auth/workspace-session|conversations/[^/]+/workspace(/.*)?)", re.DOTALL)
_WEB_ORIGIN = re.compile(r"https?://[^/?#\s]+", re.IGNORECASE)
_HOST = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:\[\]/@\s]+)(:\d{1,5})?")


def may_call(origin: str) -> bool:
    """Whether pages of ``origin`` may read answers: local ones and the configured ones."""
    return _listed(origin) or _host_of(origin) in _local_hosts()


def may_embed(path: str, origin: str) -> bool:
    """Whether ``path`` is of those that pages of any site may use."""
    return bool(_EMBEDDED.fullmatch(path) and _WEB_ORIGIN.fullmatch(origin))


def anybody_may_read() -> bool:
    """Whether ``*`` is configured: pages of any site, but none with credentials of the browser."""
    return "*" in conf.current().allow_cors_origins


def is_own(scope: dict[str, Any], origin: str) -> bool:
    """Whether ``origin`` is this server as the browser sees it."""
    host = (header(scope, b"host") or b"").decode("latin-1")
    parts = _split(origin)
    return bool(parts and parts.netloc and parts.netloc.lower() == host.lower())


def origin_of(scope: dict[str, Any]) -> str | None:
    value = header(scope, b"origin")
    return None if value is None else value.decode("latin-1")


def is_foreign(scope: dict[str, Any]) -> bool:
    """Whether a page of another site speaks: an Origin that is neither own nor allowed."""
    origin = origin_of(scope)
    return origin is not None and not (is_own(scope, origin) or may_call(origin))


def knows_host(scope: dict[str, Any]) -> bool:
    """Whether the Host header is a name of this machine.

    An address cannot be rebound by DNS, a name can; so names other than the known ones are refused
    where no key protects the server.
    """
    value = header(scope, b"host")
    if value is None:
        return True  # no browser leaves it out
    match = _HOST.fullmatch(value.decode("latin-1"))
    if match is None:
        return False
    host = match["host"].strip("[]").lower().rstrip(".")
    return host.endswith(".localhost") or host in _own_names() or _is_address(host)


def pattern() -> re.Pattern[str] | None:
    """``OH_ALLOW_CORS_ORIGIN_REGEX``, compiled. Raises ConfigurationError."""
    text = conf.current().allow_cors_origin_regex
    return _compiled(text) if text else None


@functools.lru_cache(8)
def _compiled(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise conf.ConfigurationError(
            f"OH_ALLOW_CORS_ORIGIN_REGEX is no regular expression: {error}. Correct it and start again."
        ) from None


def _listed(origin: str) -> bool:
    if origin in conf.current().allow_cors_origins:
        return origin != "*"
    found = pattern()
    return bool(found and found.fullmatch(origin))


def _local_hosts() -> set[str | None]:
    return {*LOCAL_HOSTS, *filter(None, [_docker_host()])}


def _docker_host() -> str:
    return os.environ.get("DOCKER_HOST_ADDR", "").lower()


def _own_names() -> set[str]:
    configuration = conf.current()
    listed = [name.lower() for name in configuration.allowed_hosts]
    web = _split(configuration.web_url or "")
    return {*LOCAL_HOSTS, *filter(None, [_docker_host(), web and web.hostname]), *listed}


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _host_of(origin: str) -> str | None:
    """The host name of ``scheme://host[:port]``; None for anything else."""
    parts = _split(origin)
    if (
        parts is None
        or not parts.scheme
        or parts.path
        or parts.query
        or parts.fragment
        or "@" in parts.netloc
    ):
        return None
    return parts.hostname


def _split(origin: str) -> Any:
    try:
        parts = urlsplit(origin)
        parts.port  # noqa: B018  (raises for a port that is no number)
    except ValueError:
        return None
    return parts
