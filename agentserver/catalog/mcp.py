"""Trying out an MCP server: connect, list its tools, call one if asked, end it."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from agentserver import sdk
from agentserver.catalog.mcp_tokens import TokenStorage
from agentserver.configuration import documents, sealing
from agentserver.configuration.refusals import refuse_quietly, texts_in
from agentserver.errors import invalid

REMOTE = {"http", "shttp", "streamable-http", "sse"}


@refuse_quietly
def parsed(server: Mapping[str, Any]) -> Any:
    """The SDK's MCPServer that a client describes, secrets in plain. Raises Invalid (422)."""
    sdk.require()
    from openhands.sdk.mcp.config import MCPServer

    plain = sealing.without_masks(sealing.decrypted(server, ("body", "server")), None)
    kind = plain.pop("type", None) or plain.pop("transport", None) or _kind_of(plain)
    if kind != "stdio" and kind not in REMOTE:
        raise invalid(
            ["body", "server", "type"], "Input should be stdio, http, streamable-http or sse", "enum"
        )
    needed = "command" if kind == "stdio" else "url"
    if not plain.get(needed):
        raise invalid(["body", "server", needed], "Field required", "missing")
    return MCPServer.model_validate({**plain, "transport": "http" if kind == "shttp" else kind})


def _kind_of(server: Mapping[str, Any]) -> str:
    return "stdio" if "command" in server else "http" if "url" in server else ""


def tested(*, server: Any, name: str, timeout: float, call: Any) -> dict[str, Any]:
    """The wire's answer of a test, with the tokens that a sign-in earlier left, refreshed if need be."""
    if server.oauth_auth is None:
        return tried(server=server, name=name, timeout=timeout, call=call)
    from openhands.sdk.mcp.oauth import NonInteractiveMCPOAuth

    storage = TokenStorage(server.initial_oauth_state())
    answer = tried(
        server=server,
        name=name,
        timeout=timeout,
        call=call,
        mcp_oauth_token_storage=storage,
        mcp_oauth_class=NonInteractiveMCPOAuth,
    )
    return {**answer, "oauth_state": storage.for_client()} if answer["ok"] else answer


def tried(*, server: Any, name: str, timeout: float, call: Any = None, **options: Any) -> dict[str, Any]:
    """The wire's MCPTestSuccess or MCPTestFailure; what it started has ended. ``timeout``: seconds."""
    from openhands.sdk.mcp.utils import create_mcp_tools

    deadline = time.monotonic() + timeout
    try:
        client = create_mcp_tools(
            {name: server.model_copy(update={"enabled": True})}, timeout=timeout, **options
        )
    except Exception as error:
        return failure(error, server)
    with client:
        answer: dict[str, Any] = {"ok": True, "tools": [tool.name for tool in client.tools]}
        if call is not None:
            answer["tool_result"] = _called(client, call, max(deadline - time.monotonic(), 0.1), server)
        return answer


def _called(client: Any, call: Any, timeout: float, server: Any) -> dict[str, Any]:
    """A tool's failure is an answer of the server, so the test itself went well."""
    try:
        result = client.call_async_from_sync(client.call_tool_mcp, call.name, call.arguments, timeout=timeout)
    except Exception as error:
        return {"is_error": True, "text": failure(error, server)["error"]}
    texts = [part.text for part in result.content if getattr(part, "type", None) == "text"]
    return {"is_error": bool(result.isError), "text": "\n".join(texts)}


def failure(error: BaseException, server: Any) -> dict[str, Any]:
    """The wire's MCPTestFailure."""
    message = _message(error)
    for secret in texts_in(server.model_dump(mode="json", include=_SECRET, context=documents.PLAIN)):
        message = message.replace(secret, "**********")
    return {"ok": False, "error": message[:2000], "error_kind": _error_kind(error)}


_SECRET = {"env", "headers", "auth"}


def _message(error: BaseException) -> str:
    """What the outermost error says, and the innermost, which tends to know the reason."""
    chain = [text for each in _chain(error) if (text := str(each).strip())]
    if not chain:
        return type(error).__name__
    return chain[0] if chain[-1] in chain[0] else f"{chain[0]}: {chain[-1]}"


def _error_kind(error: BaseException) -> str:
    import httpx
    from openhands.sdk.mcp.exceptions import MCPError, MCPTimeoutError

    chain = list(_chain(error))
    if any(isinstance(each, (MCPTimeoutError, TimeoutError, httpx.TimeoutException)) for each in chain):
        return "timeout"
    if any(
        isinstance(each, (OSError, httpx.TransportError, httpx.HTTPStatusError, MCPError)) for each in chain
    ):
        return "connection"
    # What the MCP client raises when the other side went away, or was never there.
    return "connection" if "onnect" in str(error) else "unknown"


def _chain(error: BaseException | None, depth: int = 0) -> Iterator[BaseException]:
    if error is None or depth > 20:
        return
    yield error
    for inner in getattr(error, "exceptions", ()):
        yield from _chain(inner, depth + 1)
    yield from _chain(error.__cause__ or error.__context__, depth + 1)
