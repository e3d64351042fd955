"""From the form to a conversation: which models can be had, and the request that starts it."""

from dataclasses import dataclass
from typing import Any

from agentserver import conf, sdk
from agentserver.auth.principals import Principal
from agentserver.configuration import llm_profiles, settings_service
from agentserver.configuration import services as configuration
from agentserver.configuration.owners import owner_of
from agentserver.demo import llm as demo

PROFILE = "profile:"
TOOLS = ("terminal", "file_editor", "task_tracker")
PROFILES_SHOWN = 50
DEMO_MESSAGE = "Show me what you can do."


@dataclass(frozen=True, slots=True)
class Choice:
    """One model of the form. ``note``: what to know before choosing it."""

    value: str
    label: str
    note: str


def choices(principal: Principal) -> list[Choice]:
    """Configured models first; the demo is always there, and a model typed in."""
    found = [*_settings(principal), *_profiles(principal)]
    demo = Choice(
        "demo",
        "Demo model",
        "Scripted, not intelligent: it runs four real commands in the terminal. Free, needs no key.",
    )
    return [*found, demo, Choice("other", "Another model …", "Used for this conversation only.")]


def _settings(principal: Principal) -> list[Choice]:
    shown = settings_service.view(owner=owner_of(principal))
    if not shown["llm_api_key_is_set"]:
        return []
    model = (shown["agent_settings"].get("llm") or {}).get("model", "")
    return [Choice("settings", str(model), "The model and the tools of the settings.")]


def _profiles(principal: Principal) -> list[Choice]:
    listed = llm_profiles.listed(owner=owner_of(principal))["profiles"][:PROFILES_SHOWN]
    return [Choice(f"{PROFILE}{one['name']}", one["name"], f"Profile with {one['model']}") for one in listed]


def suggested_workspace() -> str:
    configuration = conf.current()
    return str(configuration.workspace_path or configuration.persistence_dir / "workspaces" / "first")


def start(*, principal: Principal, wanted: dict[str, Any]) -> Any:
    """The row of the new conversation. ``wanted``: the cleaned data of a StartForm. Raises Problem."""
    sdk.require()
    from conversations import services, starts

    body = {
        "workspace": {"working_dir": wanted["workspace"]},
        "initial_message": {"content": [{"type": "text", "text": wanted["message"]}]},
        "confirmation_policy": {"kind": "AlwaysConfirm" if wanted["confirm"] else "NeverConfirm"},
        **_agent(principal, wanted),
    }
    row, _ = services.start(request=starts.parsed(body, principal), principal=principal)
    return row


def _agent(principal: Principal, wanted: dict[str, Any]) -> dict[str, Any]:
    """The part of the request that says who works on it; nothing: the agent of the settings."""
    model = wanted["model"]
    if model == "settings":
        return {}
    if model == "demo":
        llm = demo.described()
    elif model == "other":
        llm = _typed(wanted)
    else:
        stored = configuration.llm_of_profile(principal=principal, name=model.removeprefix(PROFILE))
        llm = stored.model_dump(mode="json", context={"expose_secrets": True}, exclude_none=True)
    return {"agent": {"kind": "Agent", "llm": llm, "tools": [{"name": name} for name in TOOLS]}}


def _typed(wanted: dict[str, Any]) -> dict[str, Any]:
    llm = {"usage_id": "agent", "model": wanted["other_model"], "stream": True}
    if wanted["other_key"]:
        llm["api_key"] = wanted["other_key"]
    if wanted["other_url"]:
        llm["base_url"] = wanted["other_url"]
    return llm
