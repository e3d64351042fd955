"""Keys and addresses of providers that several LLM profiles of an owner share."""

import time
import uuid
from typing import Any

from agentserver import sdk
from agentserver.configuration.models import LLMProfile, ProviderConnection
from agentserver.configuration.owners import locked
from agentserver.configuration.sealing import is_mask
from agentserver.errors import Conflict, NotFound, invalid

LIMIT = 64


class NoSuchConnection(NotFound):
    sentence = "There is no provider connection with this id."


class TooManyConnections(Conflict):
    sentence = f"There are {LIMIT} provider connections, as many as are kept. Delete one first."


def view(row: ProviderConnection) -> dict[str, Any]:
    """The wire's ProviderConnectionResponse."""
    return {
        "id": row.connection_id,
        "display_name": row.display_name,
        "provider": row.provider,
        "base_url": row.base_url,
        "api_key_set": bool(sdk.decrypt(row.api_key)),
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def listed(*, owner: int | None) -> list[dict[str, Any]]:
    return [view(row) for row in ProviderConnection.objects.filter(owner=owner).order_by("id")]


def keys_set(*, owner: int | None) -> dict[str, bool]:
    """Of each connection's id whether its key is there and can be opened."""
    rows = ProviderConnection.objects.filter(owner=owner)
    return {row.connection_id: bool(sdk.decrypt(row.api_key)) for row in rows}


def create(
    *,
    owner: int | None,
    display_name: str,
    provider: str,
    api_key: str,
    base_url: str | None,
) -> dict[str, Any]:
    """Raises TooManyConnections (409), Invalid (422)."""
    now = int(time.time())
    with locked(owner):
        if ProviderConnection.objects.filter(owner=owner).count() >= LIMIT:
            raise TooManyConnections()
        row = ProviderConnection.objects.create(
            owner_id=owner,
            connection_id=uuid.uuid4().hex,
            display_name=display_name,
            provider=provider,
            api_key=_sealed(api_key),
            base_url=base_url or None,
            created_at=now,
            updated_at=now,
        )
    return view(row)


def change(*, owner: int | None, connection_id: str, changes: dict[str, Any]) -> dict[str, Any]:
    """``changes`` name fields of the wire. Raises NoSuchConnection (404), Invalid (422)."""
    if not changes:
        raise invalid(["body"], "Name at least one field to change.", "missing")
    for field in ("display_name", "provider", "api_key"):
        if field in changes and changes[field] is None:
            raise invalid(["body", field], "Input should be a valid string", "string_type")
    with locked(owner):
        row = _row(owner, connection_id)
        for field, value in changes.items():
            setattr(row, field, _sealed(value) if field == "api_key" else value)
        row.updated_at = int(time.time())
        row.save()
    return view(row)


def delete(*, owner: int | None, connection_id: str) -> dict[str, Any]:
    """Raises NoSuchConnection (404), Conflict (409) while profiles use it."""
    with locked(owner):
        row = _row(owner, connection_id)
        users = LLMProfile.objects.filter(owner=owner, connection_id=connection_id).order_by("name")
        if users:
            raise Conflict(f"Connection in use by the profiles: {', '.join(user.name for user in users)}.")
        shown = view(row)
        row.delete()
    return shown


def applied(*, owner: int | None, llm: Any) -> Any:
    """``llm`` with the key and address of the connection it refers to, if it does.

    Raises Invalid (422) if the connection is gone and the LLM has no key of its own.
    """
    if not llm.provider_connection_id:
        return llm
    row = ProviderConnection.objects.filter(owner=owner, connection_id=llm.provider_connection_id).first()
    if row is None:
        if llm.api_key is not None:
            return llm
        raise invalid(
            ["provider_connection_id"],
            "The provider connection of this LLM is gone. Choose another.",
        )
    from pydantic import SecretStr

    key = sdk.decrypt(row.api_key)
    return llm.model_copy(update={"api_key": SecretStr(key) if key else None, "base_url": row.base_url})


def _row(owner: int | None, connection_id: str) -> ProviderConnection:
    row = ProviderConnection.objects.filter(owner=owner, connection_id=connection_id).first()
    if row is None:
        raise NoSuchConnection()
    return row


def _sealed(key: str) -> str:
    if not key.strip() or is_mask(key):
        raise invalid(["body", "api_key"], "Give the key itself: not empty, not masked.")
    return sdk.encrypt(key)
