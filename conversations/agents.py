"""The agent a start request names: given, built from settings, or from a stored profile."""

from typing import Any

from agentserver.auth.doors import Principal
from agentserver.configuration import services as configuration
from agentserver.errors import invalid


def launched(*, request: Any, principal: Principal) -> tuple[Any, Any]:
    """The SDK agent for ``request`` (StartConversationRequest), and the profile it came from or None.

    Raises Invalid (422), NotFound (404) for a profile that is not there.
    """
    from conversations import building

    building.register(
        {
            "tool_module_qualnames": request.tool_module_qualnames,
            "agent_definitions": [d.model_dump(mode="json") for d in request.agent_definitions],
        }
    )
    made = configuration.launched_agent(
        principal=principal, request=request, client_tools=request.client_tools
    )
    _check_tools(made.agent, {tool.name for tool in request.client_tools})
    return made.agent, made.profile


def _check_tools(agent: Any, client_tools: set[str]) -> None:
    from openhands.sdk.tool import list_registered_tools

    unknown = (
        {tool.name for tool in getattr(agent, "tools", [])} - set(list_registered_tools()) - client_tools
    )
    if unknown:
        raise invalid(
            ["body", "agent", "tools"], "An agent's tool is not known to this server.", "unknown_tool"
        )
