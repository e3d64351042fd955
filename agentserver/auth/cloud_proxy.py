"""``/api/cloud-proxy``: one request to a named cloud API, for browsers that may not call it themselves.

Only origins of ``OH_CLOUD_PROXY_ORIGINS`` are called. The address is put together from its parts and
its origin checked at the end, so neither userinfo nor a crafted path leads elsewhere; redirects are
not followed.
"""

from dataclasses import dataclass
from typing import Any, Literal

import httpx
from pydantic import BaseModel, Field

from agentserver import conf, outgoing
from agentserver.errors import BadGateway, GatewayTimeout, Problem, invalid

LARGEST_ANSWER_BYTES = 32 * conf.MIB
_NOT_FORWARDED = {
    "host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer",
    "keep-alive", "proxy-authorization", "proxy-connection", "x-session-api-key", "cookie",
}  # fmt: skip


class CloudProxyRequest(BaseModel):
    """``host``: a name or an origin; ``path``: from its first slash, with the query."""

    host: str = Field(max_length=255)
    path: str = Field(max_length=8192)
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = "GET"
    headers: dict[str, str] = {}
    body: Any = None
    timeout_seconds: float = Field(15.0, ge=1, le=60)


class NotAllowed(Problem):
    status_code, code = 403, "host_not_allowed"
    sentence = "This host is not one the server may call. Add its origin as OH_CLOUD_PROXY_ORIGINS_0."


class Unreachable(BadGateway):
    code, sentence = "upstream", "The cloud API could not be reached or did not answer as it should."


class TookTooLong(GatewayTimeout):
    sentence = "The cloud API did not answer in time."


@dataclass(frozen=True)
class Answer:
    status: int
    content: bytes
    content_type: str


def forward(wanted: CloudProxyRequest) -> Answer:
    """Send it and return the answer; blocks up to ``timeout_seconds`` for each step."""
    url, headers = address_of(wanted.host, wanted.path), _headers(wanted)
    client = httpx.Client(follow_redirects=False, trust_env=False, timeout=wanted.timeout_seconds)
    try:
        with client, client.stream(wanted.method, url, headers=headers, json=wanted.body) as response:
            return _answer(response)
    except httpx.TimeoutException:
        raise TookTooLong() from None
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError):
        raise Unreachable() from None


def address_of(host: str, path: str) -> httpx.URL:
    """The address to call. Raises NotAllowed, or Invalid for a path that is none."""
    if not path.startswith("/") or path.startswith("//") or "\\" in path or outgoing.has_controls(path):
        raise invalid(["body", "path"], "The path must begin with one slash.", "path")
    try:
        url = outgoing.base(host).copy_with(raw_path=path.partition("#")[0].encode())
        allowed = not url.userinfo and outgoing.origin(url) in _allowed()
    except (httpx.InvalidURL, ValueError):  # also from reading a host that claims to be punycode
        raise NotAllowed() from None
    if not allowed:
        raise NotAllowed()
    return url


def _allowed() -> set[tuple[str, str, int]]:
    return {outgoing.origin(outgoing.base(entry)) for entry in conf.current().cloud_proxy_origins}


def _headers(wanted: CloudProxyRequest) -> dict[str, str]:
    kept = {k: v for k, v in wanted.headers.items() if k.lower() not in _NOT_FORWARDED}
    if any(_has_breaks(text) for pair in kept.items() for text in pair):
        raise invalid(["body", "headers"], "A header must be one line of ASCII.", "header")
    return kept


def _has_breaks(text: str) -> bool:
    return not text.isascii() or any(ord(letter) < 0x20 and letter != "\t" for letter in text)


def _answer(response: httpx.Response) -> Answer:
    if response.is_redirect:
        raise Unreachable("The cloud API answered with a redirect, which is not followed.")
    content = bytearray()
    for part in response.iter_bytes():
        content += part
        if len(content) > LARGEST_ANSWER_BYTES:
            raise Unreachable("The cloud API's answer is too large.")
    kind = response.headers.get("content-type", "application/json")
    return Answer(response.status_code, bytes(content), kind)
