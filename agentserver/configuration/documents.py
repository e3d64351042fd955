"""The SDK's settings documents: from stored JSON to models and back, and to what clients see."""

import json
from collections.abc import Mapping
from typing import Any

from agentserver import conf, sdk
from agentserver.auth import keys
from agentserver.configuration import sealing
from agentserver.configuration.merging import merged, merged_keeping_nulls
from agentserver.configuration.models import Settings
from agentserver.configuration.refusals import NoEncryption, refuse_quietly
from agentserver.errors import Problem, invalid

PLAIN = {"expose_secrets": "plaintext"}


class BadExposure(Problem):
    status_code, code = 400, "bad_exposure"
    sentence = "X-Expose-Secrets is 'encrypted' or 'plaintext', or left out."


def agent_settings(row: Settings) -> Any:
    """The agent settings of ``row`` with plain secrets; defaults where nothing is stored."""
    sdk.require()
    from openhands.sdk.settings.model import (
        default_agent_settings,
        validate_agent_settings,
    )

    if not row.agent:
        return default_agent_settings()
    return validate_agent_settings(sealing.opened(json.loads(row.agent)), persisted=True)


def store_agent_settings(row: Settings, settings: Any, change: Any = None) -> None:
    """Put ``settings`` into ``row``, secrets encrypted; ``change`` says what was meant to change."""
    document = sealing.seal_headers(settings.model_dump(mode="json", context=sealing.for_storage()))
    if row.agent:
        sealing.keep_unopened(json.loads(row.agent), document, change)
    row.agent = json.dumps(document)


@refuse_quietly
def changed_agent_settings(current: Any, change: Mapping[str, Any]) -> Any:
    """``current`` with the merge patch ``change`` applied. Raises Invalid (422)."""
    from openhands.sdk.settings.model import validate_agent_settings

    change = _with_known_servers(change)
    plain = current.model_dump(mode="json", context=PLAIN)
    kind = change.get("agent_kind")
    # The two kinds share no fields worth keeping: a change of kind begins afresh.
    base = {"agent_kind": kind} if kind and kind != current.agent_kind else plain
    change = sealing.without_masks(sealing.decrypted(change), base)
    result = validate_agent_settings(merged(base, change))
    for name in change.get("mcp_config") or {}:
        require_reachable(result.mcp_config.get(name))
    return result


def _with_known_servers(change: Mapping[str, Any]) -> Mapping[str, Any]:
    """External clients wrap the servers in ``mcpServers``."""
    servers = change.get("mcp_config")
    if isinstance(servers, Mapping) and isinstance(servers.get("mcpServers"), Mapping):
        return {**change, "mcp_config": servers["mcpServers"]}
    return change


def require_reachable(server: Any) -> None:
    """Refuse an MCP server that no conversation could start. Raises Invalid (422)."""
    if server is not None and not server.command and not server.url:
        raise invalid(["body"], "An MCP server needs a command or a url.", "missing")


def conversation_settings(row: Settings) -> Any:
    sdk.require()
    from openhands.sdk.settings.model import ConversationSettings

    return ConversationSettings.from_persisted(json.loads(row.conversation) if row.conversation else {})


@refuse_quietly
def changed_conversation_settings(current: Any, change: Mapping[str, Any]) -> Any:
    """Raises Invalid (422)."""
    from openhands.sdk.settings.model import ConversationSettings

    return ConversationSettings.model_validate(merged_keeping_nulls(current.model_dump(mode="json"), change))


def exposure(header: str | None) -> str | None:
    """``X-Expose-Secrets`` as 'plaintext', 'encrypted' or None. Raises BadExposure (400)."""
    word = (header or "").strip().lower()
    if word in ("", "false"):
        return None
    if word in ("encrypted", "true"):
        return "encrypted"
    if word == "plaintext":
        return word
    raise BadExposure()


def shown(model: Any, expose: str | None, **options: Any) -> dict[str, Any]:
    """A model as JSON with secrets masked, in plain or encrypted. Raises NoEncryption (503)."""
    from openhands.sdk.utils.pydantic_secrets import MissingCipherError

    try:
        return model.model_dump(mode="json", context=_context(expose), **options)
    except MissingCipherError:
        raise NoEncryption() from None
    except Exception as error:  # pydantic wraps what a serializer raises
        if "cipher" in str(error):
            raise NoEncryption() from None
        raise


def _context(expose: str | None) -> dict[str, Any]:
    if expose == "plaintext":
        return PLAIN
    if expose == "encrypted":
        return {
            "expose_secrets": "encrypted",
            "cipher": sdk.cipher() if encryption_is_set_up() else None,
        }
    return {}


def encryption_is_set_up() -> bool:
    """Whether clients are handed encrypted secrets.

    Clients of the protocol take 503 for the sign of a server that was given no key. This one always
    has one, made by itself, so `OH_EXPOSE_ENCRYPTED_SECRETS` can say otherwise; the command
    `agentserver` does.
    """
    configuration = conf.current()
    if configuration.expose_encrypted_secrets is not None:
        return configuration.expose_encrypted_secrets
    return bool(configuration.secret_key) or keys.required()
