"""What conversations need of the configuration: models, agents and secrets with plain keys."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from agentserver.configuration import (
    documents,
    launch,
    llm_profiles,
    sealing,
    stores,
    user_secrets,
)
from agentserver.configuration.owners import owner_of, settings_row
from agentserver.errors import NotFound

# Parts of a request that hold what people said, where a text that looks encrypted is just a text.
_SPOKEN = {"initial_message", "tags", "title"}
_OWN_SECRETS = "/api/settings/secrets/"


def llm_of_profile(*, principal: Any, name: str) -> Any:
    """The SDK's LLM saved under ``name``, with its plain key. Raises NotFound (404), Invalid (422)."""
    return llm_profiles.load(owner=owner_of(principal), name=name.removesuffix(".json"))


def llm_of_request(*, principal: Any, llm: Any) -> Any:
    """The LLM that a client describes, as in ``switch_llm``: keys encrypted by us are opened, that of
    its provider connection is filled in. Raises Invalid (422)."""
    from agentserver.configuration import connections

    return connections.applied(owner=owner_of(principal), llm=llm_profiles.parsed(llm))


def launched_agent(*, principal: Any, request: Any, client_tools: Any = ()) -> Any:
    """The SDK's LaunchedAgent for a parsed StartConversationRequest, whatever its source of the agent.

    ``.agent`` is the agent with plain keys; ``.profile`` says which agent profile it came from, if one.
    ``client_tools``: the SDK's ClientToolSpecs.
    Raises NotFound (404), Invalid (422), Unavailable (503).
    """
    tools = launch.tools_of(client_tools)
    options = {"additions": request.agent_launch_additions, "client_tools": tools}
    if request.agent_profile_id is not None:
        return agent_of_profile(principal=principal, profile_id=request.agent_profile_id, **options)
    if request.agent is not None:
        return launch.from_agent(owner=owner_of(principal), agent=request.agent, **options)
    return agent_of_settings(principal=principal, agent_settings=request.agent_settings, **options)


def agent_of_profile(
    *, principal: Any, profile_id: Any, additions: Any = None, client_tools: Any = ()
) -> Any:
    """See ``launched_agent``."""
    return launch.from_profile(
        owner=owner_of(principal),
        profile_id=profile_id,
        additions=additions,
        client_tools=client_tools,
    )


def agent_of_settings(
    *,
    principal: Any,
    agent_settings: Mapping[str, Any] | None = None,
    additions: Any = None,
    client_tools: Any = (),
) -> Any:
    """See ``launched_agent``; without ``agent_settings`` from those that are stored."""
    owner = owner_of(principal)
    given = documents.agent_settings(settings_row(owner)) if agent_settings is None else agent_settings
    return launch.from_settings(
        owner=owner,
        agent_settings=given,
        additions=additions,
        client_tools=client_tools,
    )


def decrypted(payload: Mapping[str, Any]) -> dict[str, Any]:
    """A request with what we encrypted for the client in plain. Raises Invalid (422).

    Only where the client says so (``secrets_encrypted``); what people said is left alone.
    """
    if not payload.get("secrets_encrypted"):
        return dict(payload)
    return {
        key: value if key in _SPOKEN else sealing.decrypted(value, ("body", key))
        for key, value in payload.items()
    }


def with_own_secrets(*, principal: Any, payload: Mapping[str, Any]) -> dict[str, Any]:
    """A request whose references to our own saved secrets are replaced by their values.

    Clients send ``{"kind": "LookupSecret", "url": "/api/settings/secrets/NAME"}``. One that is not
    there is left out, as it would be at its first use.
    """
    given = payload.get("secrets")
    if not isinstance(given, Mapping):
        return dict(payload)
    pairs = ((name, _own_secret(principal, source)) for name, source in given.items())
    return {
        **payload,
        "secrets": {name: source for name, source in pairs if source is not None},
    }


def _own_secret(principal: Any, source: Any) -> Any:
    name = _own_name(source)
    if name is None:
        return source
    try:
        value = user_secrets.value(owner=owner_of(principal), name=name)
    except NotFound:
        return None
    return {
        "kind": "StaticSecret",
        "value": value,
        "description": source.get("description"),
    }


def _own_name(source: Any) -> str | None:
    """The name of the saved secret that ``source`` looks up on this server, if it does."""
    if not isinstance(source, Mapping) or source.get("kind") != "LookupSecret":
        return None
    url = urlsplit(str(source.get("url", "")))
    if url.scheme or url.netloc or not url.path.startswith(_OWN_SECRETS):
        return None
    return url.path.removeprefix(_OWN_SECRETS).rstrip("/")


def profile_store(*, principal: Any) -> stores.LLMProfiles:
    """The SDK's LLM profile store over the tables, for ``LocalConversation``'s switching of models."""
    return stores.LLMProfiles(owner_of(principal))
