"""The path of ``OH_WEB_URL``: a proxy may leave it on or take it off, links always have it."""

from typing import Any
from urllib.parse import urlsplit

from agentserver import conf


def path() -> str:
    """``/prefix`` without a slash at its end; empty if the server is shown at the root."""
    return urlsplit(conf.current().web_url or "").path.rstrip("/")


def origins() -> list[str]:
    """The origin of ``OH_WEB_URL``, from which forms come; a proxy may hide it from the Host header."""
    parts = urlsplit(conf.current().web_url or "")
    return [f"{parts.scheme}://{parts.netloc}"] if parts.scheme in ("http", "https") and parts.netloc else []


class Prefix:
    """Wraps ``application``, which sees paths without the prefix."""

    def __init__(self, application: Any):
        self.application = application

    async def __call__(self, scope, receive, send) -> None:
        if (prefix := path()) and (scope["path"] == prefix or scope["path"].startswith(f"{prefix}/")):
            rest = scope["path"].removeprefix(prefix) or "/"
            scope = {**scope, "path": rest, "raw_path": rest.encode("utf-8", "surrogateescape")}
        await self.application(scope, receive, send)
