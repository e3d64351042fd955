"""The three "active" pointers of the settings, and what following each of them does."""

from typing import Any

from agentserver.configuration import documents, llm_profiles
from agentserver.configuration.models import AgentProfile, MetaProfile, Settings
from agentserver.errors import NotFound


class NoSuchProfile(NotFound):
    sentence = "There is no profile of this name."


def point(row: Settings, pointer: str, target: Any) -> None:
    """Set ``pointer`` of a locked ``row``. Raises NoSuchProfile (404), Invalid (422)."""
    {
        "active_profile": point_at_llm_profile,
        "active_agent_profile_id": _point_at_agent_profile,
        "active_meta_profile": point_at_meta_profile,
    }[pointer](row, target)


def point_at_llm_profile(row: Settings, name: str | None) -> bool:
    """The profile's model becomes that of the settings; whether there was a place for it."""
    applied = False
    if name is not None:
        llm = llm_profiles.load(owner=row.owner_id, name=name)
        settings = documents.agent_settings(row)
        if applied := hasattr(settings, "llm"):
            changed = settings.model_copy(update={"llm": llm})
            documents.store_agent_settings(row, changed, {"llm": llm.model_dump(mode="json")})
    row.active_profile = name
    return applied


def _point_at_agent_profile(row: Settings, profile_id: str | None) -> None:
    if (
        profile_id is not None
        and not AgentProfile.objects.filter(owner=row.owner_id, profile_id=profile_id).exists()
    ):
        raise NoSuchProfile()
    row.active_agent_profile_id = profile_id


def point_at_meta_profile(row: Settings, name: str | None) -> bool:
    """Switches the routing of models on, or off with None; whether the agent can route."""
    if name is not None and not MetaProfile.objects.filter(owner=row.owner_id, name=name).exists():
        raise NoSuchProfile()
    row.active_meta_profile = name
    settings = documents.agent_settings(row)
    if not hasattr(settings, "active_meta_profile"):
        return False
    update = {
        "active_meta_profile": name,
        "enable_classify_and_switch_llm_tool": name is not None,
    }
    documents.store_agent_settings(row, settings.model_copy(update=update), update)
    return True
