"""Settings of an owner: what a client sees, and each change of them in one transaction."""

import json
from collections.abc import Mapping
from typing import Any

from agentserver.configuration import documents, pointers
from agentserver.configuration.merging import merged_keeping_nulls
from agentserver.configuration.models import Settings
from agentserver.configuration.owners import locked, settings_row
from agentserver.errors import Conflict, NotFound, Problem


class NothingToChange(Problem):
    status_code, code = 400, "nothing_to_change"
    sentence = "Name at least one of the settings to change."


CHANGES = (
    "agent_settings_diff",
    "conversation_settings_diff",
    "misc_settings_diff",
    "active_profile",
    "active_agent_profile_id",
    "active_meta_profile",
)


def view(*, owner: int | None, expose: str | None = None) -> dict[str, Any]:
    """The wire's SettingsResponse. ``expose``: how secrets are shown, see ``documents.shown``."""
    return _view(settings_row(owner), expose)


def _view(row: Settings, expose: str | None = None) -> dict[str, Any]:
    agent = documents.agent_settings(row)
    key = getattr(getattr(agent, "llm", None), "api_key", None)
    return {
        "agent_settings": documents.shown(agent, expose),
        "conversation_settings": documents.conversation_settings(row).model_dump(mode="json"),
        "llm_api_key_is_set": bool(key and key.get_secret_value().strip()),
        "active_profile": row.active_profile,
        "active_agent_profile_id": str(row.active_agent_profile_id) if row.active_agent_profile_id else None,
        "active_meta_profile": row.active_meta_profile,
        "misc_settings": json.loads(row.misc),
    }


def patch(*, owner: int | None, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Apply ``changes`` (names of CHANGES) whole or not at all; the settings after it, masked.

    Raises NothingToChange (400), NotFound (404) for a pointer to nothing, Invalid (422).
    """
    if not changes:
        raise NothingToChange()
    with locked(owner) as row:
        _apply(row, changes)
        row.save()
        return _view(row)


def _apply(row: Settings, changes: Mapping[str, Any]) -> None:
    for name in ("active_profile", "active_agent_profile_id", "active_meta_profile"):
        if name in changes:
            pointers.point(row, name, changes[name])
    if change := changes.get("agent_settings_diff"):
        current = documents.agent_settings(row)
        documents.store_agent_settings(row, documents.changed_agent_settings(current, change), change)
    if change := changes.get("conversation_settings_diff"):
        current = documents.conversation_settings(row)
        changed = documents.changed_conversation_settings(current, change)
        row.conversation = json.dumps(changed.model_dump(mode="json"))
    if change := changes.get("misc_settings_diff"):
        row.misc = json.dumps(merged_keeping_nulls(json.loads(row.misc), change))


class NoSuchServer(NotFound):
    sentence = "There is no MCP server of this name in the settings."


class ServerExists(Conflict):
    sentence = "There is an MCP server of this name already. Change it with PATCH, or delete it first."


def add_mcp_server(*, owner: int | None, name: str, server: Mapping[str, Any]) -> dict[str, Any]:
    """Raises ServerExists (409), Invalid (422)."""
    return _change_server(owner, name, {**server}, present=False)


def change_mcp_server(*, owner: int | None, name: str, change: Mapping[str, Any]) -> dict[str, Any]:
    """Merge ``change`` into one server. Raises NoSuchServer (404), Invalid (422)."""
    return _change_server(owner, name, change, present=True)


def remove_mcp_server(*, owner: int | None, name: str) -> dict[str, Any]:
    """Raises NoSuchServer (404)."""
    return _change_server(owner, name, None, present=True)


def _change_server(owner: int | None, name: str, change: Any, *, present: bool) -> dict[str, Any]:
    with locked(owner) as row:
        known = name in documents.agent_settings(row).mcp_config
        if present and not known:
            raise NoSuchServer()
        if known and not present:
            raise ServerExists()
        _apply(row, {"agent_settings_diff": {"mcp_config": {name: change}}})
        row.save()
        return _view(row)
