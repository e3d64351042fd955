"""What a project brings along for agents: its hooks and its sub-agents."""

import logging
from pathlib import Path
from typing import Any

from agentserver import sdk

logger = logging.getLogger(__name__)


def hooks(*, project_dir: str | None) -> dict[str, Any] | None:
    """The hooks of the project's ``.openhands/hooks.json``; None where there are none that can be used."""
    sdk.require()
    from openhands.sdk.hooks import HookConfig

    path = Path(project_dir, ".openhands", "hooks.json") if project_dir else None
    if path is None or not path.is_file():
        return None
    try:
        config = HookConfig.load(path)
    except Exception as error:
        logger.warning("The hooks of a project cannot be used: %s", type(error).__name__)
        return None
    return None if config.is_empty() else config.model_dump(mode="json")


def sub_agents(*, wanted: Any) -> list[dict[str, Any]]:
    """Definitions of sub-agents: those of the project win over the user's, these over the built-in."""
    sdk.require()
    from openhands.sdk.subagent.load import load_project_agents, load_user_agents

    found = {agent.name: ("builtin", agent) for agent in (_built_in() if wanted.load_builtin else [])}
    if wanted.load_user:
        found |= {agent.name: ("user", agent) for agent in load_user_agents()}
    if wanted.load_project and wanted.project_dir and Path(wanted.project_dir).is_dir():
        found |= {agent.name: ("project", agent) for agent in load_project_agents(wanted.project_dir)}
    return [_view(level, agent) for level, agent in found.values()]


def _built_in() -> list[Any]:
    from openhands.tools.preset.default import discover_builtin_agents

    return discover_builtin_agents()


def _view(level: str, agent: Any) -> dict[str, Any]:
    return {**agent.model_dump(mode="json"), "level": level, "is_builtin": level == "builtin"}
