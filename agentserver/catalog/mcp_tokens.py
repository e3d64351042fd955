"""Tokens of a sign-in to an MCP server, between the MCP client and whoever keeps them."""

from collections.abc import Mapping
from typing import Any

from agentserver import sdk
from agentserver.configuration import documents


class TokenStorage:
    """What FastMCP asks of a token store, over the SDK's MCPOAuthState. Lives as long as one connection."""

    _FIELDS = (("expiry", "token_expires_at"), ("client", "client_info"), ("token", "tokens"))

    def __init__(self, state: Any):
        from openhands.sdk.mcp.config import MCPOAuthState

        self.state = state or MCPOAuthState()

    def _field(self, collection: str | None) -> Any:
        return next(field for word, field in self._FIELDS if word in (collection or ""))

    async def get(self, key: str, *, collection: str | None = None) -> Any:
        return self.state.get_token_storage_value(self._field(collection))

    async def ttl(self, key: str, *, collection: str | None = None) -> tuple[Any, None]:
        return await self.get(key, collection=collection), None

    async def put(
        self, key: str, value: Mapping[str, Any], *, collection: str | None = None, ttl: Any = None
    ) -> None:
        self.state = self.state.with_token_storage_value(self._field(collection), value)

    async def delete(self, key: str, *, collection: str | None = None) -> bool:
        self.state, existed = self.state.without_token_storage_value(self._field(collection))
        return existed

    def for_client(self) -> dict[str, Any] | None:
        """The tokens for the client to save with the server: encrypted wherever that is set up."""
        if not self.state.has_values:
            return None
        cipher = sdk.cipher() if documents.encryption_is_set_up() else None
        return self.state.to_response(cipher=cipher).model_dump(mode="json")
