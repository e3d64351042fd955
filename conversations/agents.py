"""The agent a start request names: given, built from settings, or from a stored profile."""

from typing import Any

from agentserver.errors import invalid


def of_request(request: Any) -> Any:
    """The SDK agent for ``request`` (StartConversationRequest). Raises Invalid (422)."""
    from openhands.sdk.settings.model import validate_agent_settings
    from pydantic import ValidationError

    from agentserver.errors import from_pydantic
    from conversations import building

    building.register(
        {
            "tool_module_qualnames": request.tool_module_qualnames,
            "agent_definitions": [d.model_dump(mode="json") for d in request.agent_definitions],
        }
    )
    try:
        agent = request.agent or validate_agent_settings(request.agent_settings).create_agent()
    except ValidationError as error:
        raise from_pydantic(error, ("body", "agent_settings")) from None
    except (TypeError, ValueError):
        raise invalid(["body", "agent_settings"], "No agent can be built from these settings.") from None
    _check_tools(agent, {tool.name for tool in request.client_tools})
    return agent


def _check_tools(agent: Any, client_tools: set[str]) -> None:
    from openhands.sdk.tool import list_registered_tools

    unknown = {tool.name for tool in getattr(agent, "tools", [])} - set(list_registered_tools()) - client_tools
    if unknown:
        raise invalid(["body", "agent", "tools"], "An agent's tool is not known to this server.", "unknown_tool")
