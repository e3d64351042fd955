"""From settings, profiles and requests to the agent that a conversation starts with."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentserver import sdk
from agentserver.catalog import skills
from agentserver.configuration import agent_profiles, connections, documents, stores
from agentserver.configuration.owners import settings_row
from agentserver.configuration.refusals import refuse_quietly
from agentserver.demo import llm as demo
from agentserver.errors import Invalid, NotFound, Problem, invalid


class LaunchRefused(Invalid):
    """422: ``detail`` is the SDK's report of what does not resolve."""

    code = "invalid_agent_launch"


class StoresUnavailable(Problem):
    status_code, code = 503, "unavailable"
    sentence = "What the agent profile refers to cannot be read at present. Try again."


def from_profile(
    *,
    owner: int | None,
    profile_id: Any,
    additions: Any = None,
    client_tools: Sequence[Any] = (),
) -> Any:
    """The SDK's LaunchedAgent (``agent``, ``profile``) of a stored agent profile.

    Raises NotFound (404), LaunchRefused (422), StoresUnavailable (503).
    """
    sdk.require()
    from openhands.sdk.launch import resolve

    profile = agent_profiles.load_by_id(owner=owner, profile_id=profile_id)
    llm_profile = additions.llm_profile_ref if additions else None

    def build() -> Any:
        return resolve(profile, _stores(owner), llm_profile_ref=llm_profile)

    return _finalized(_guarded(build), additions, client_tools)


def from_settings(
    *,
    owner: int | None,
    agent_settings: Mapping[str, Any],
    additions: Any = None,
    client_tools: Sequence[Any] = (),
) -> Any:
    """The SDK's LaunchedAgent of agent settings with plain secrets. Raises Invalid (422).

    Without an ``llm`` the one of the stored settings is taken; where that is unset too, the demo model.
    """
    sdk.require()
    from openhands.sdk.launch import ResolvedLaunch

    settings = _validated(agent_settings)
    if hasattr(settings, "llm"):
        stored = settings if "llm" in agent_settings else documents.agent_settings(settings_row(owner))
        llm = connections.applied(owner=owner, llm=getattr(stored, "llm", settings.llm))
        settings = settings.model_copy(update={"llm": demo.stand_in(llm)})
    return _finalized(ResolvedLaunch(settings=settings), additions, client_tools)


def from_agent(
    *,
    owner: int | None,
    agent: Any,
    additions: Any = None,
    client_tools: Sequence[Any] = (),
) -> Any:
    """The SDK's LaunchedAgent of an agent that a client built."""
    if getattr(agent, "llm", None) is not None and agent.llm.provider_connection_id:
        agent = agent.model_copy(update={"llm": connections.applied(owner=owner, llm=agent.llm)})
    return _finalized(agent, additions, client_tools)


def tools_of(specs: Sequence[Any]) -> list[Any]:
    """The agent's tools for tools that the client carries out. Raises Invalid (422)."""
    if not specs:
        return []
    from openhands.sdk.tool.client_tool import ClientToolRegistrationError, register_client_tools

    try:
        return register_client_tools(specs)
    except ClientToolRegistrationError:
        raise invalid(
            ["body", "client_tools"], "A client tool needs a name of its own, which no other tool has."
        ) from None


@refuse_quietly
def _validated(agent_settings: Mapping[str, Any]) -> Any:
    from openhands.sdk.settings.model import validate_agent_settings

    return validate_agent_settings(agent_settings)


def _finalized(source: Any, additions: Any, client_tools: Sequence[Any]) -> Any:
    from openhands.sdk.launch import finalize

    def build() -> Any:
        return finalize(source, runtime(), additions=additions, client_tools=client_tools)

    return _guarded(build)


def runtime() -> Any:
    """What agents can do in this process."""
    from openhands.sdk.launch import LaunchRuntime
    from openhands.sdk.tool import is_tool_usable, list_registered_tools
    from openhands.sdk.tool.defaults import BROWSER_TOOL_NAME

    browser = BROWSER_TOOL_NAME in list_registered_tools() and is_tool_usable(BROWSER_TOOL_NAME)
    return LaunchRuntime(browser_available=browser)


def _guarded(build: Any) -> Any:
    from openhands.sdk.launch import AgentLaunchError, LaunchStoreError
    from openhands.sdk.profiles.resolver import ProfileNotFound

    try:
        return build()
    except ProfileNotFound:
        raise NotFound("There is no such agent profile.") from None
    except AgentLaunchError as error:
        raise LaunchRefused(error.to_detail()) from None
    except LaunchStoreError:
        raise StoresUnavailable() from None


def _stores(owner: int | None) -> Any:
    from openhands.sdk.launch import LaunchStores

    settings = documents.agent_settings(settings_row(owner))
    verification = getattr(settings, "verification", None)
    return LaunchStores(
        llm_profiles=stores.LLMProfiles(owner),
        meta_profiles=stores.MetaProfiles(owner),
        llm_profile_names=stores.LLMProfiles(owner).names,
        mcp_config=settings.mcp_config,
        skills=lambda: skills.for_launch(owner=owner),
        public_skill_names=lambda: skills.public_names(owner=owner),
        critic_api_key=getattr(verification, "critic_api_key", None),
    )


def preview(*, owner: int | None, name: str, draft: Mapping[str, Any] | None) -> dict[str, Any]:
    """The wire's AgentProfileDiagnostics, secrets masked. Raises NotFound (404), Invalid (422)."""
    sdk.require()
    from openhands.sdk.launch import preview_launch

    if draft is None:
        profile = agent_profiles.load(owner=owner, name=name)
    else:
        profile = agent_profiles.parsed(name, draft)
    return preview_launch(profile, _stores(owner), runtime()).model_dump(mode="json")
