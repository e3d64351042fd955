"""Saved ways to launch an agent. There is always an active one."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from agentserver import sdk
from agentserver.configuration import documents
from agentserver.configuration.models import AgentProfile, Settings
from agentserver.configuration.owners import locked, settings_row
from agentserver.configuration.refusals import refuse_quietly
from agentserver.errors import Conflict, NotFound

LIMIT = 50
SEED = "default"


class NoSuchProfile(NotFound):
    sentence = "There is no such agent profile."


class ProfileExists(Conflict):
    sentence = "There is an agent profile of this name already."


class TooManyProfiles(Conflict):
    sentence = f"There are {LIMIT} agent profiles, as many as are kept. Delete one first."


def listed(*, owner: int | None) -> dict[str, Any]:
    """The wire's AgentProfileListResponse; makes and activates one where there is none."""
    active = settings_row(owner).active_agent_profile_id
    rows = list(AgentProfile.objects.filter(owner=owner).order_by("name"))
    if active not in {row.profile_id for row in rows}:
        active = _ensure_active(owner)
        rows = list(AgentProfile.objects.filter(owner=owner).order_by("name"))
    return {
        "profiles": [_summary(row) for row in rows],
        "active_agent_profile_id": str(active),
    }


def _summary(row: AgentProfile) -> dict[str, Any]:
    body = json.loads(row.body)
    return {
        "id": str(row.profile_id),
        "name": row.name,
        "agent_kind": body.get("agent_kind", "openhands"),
        "revision": row.revision,
        "llm_profile_ref": body.get("llm_profile_ref"),
        "mcp_server_refs": body.get("mcp_server_refs"),
    }


def _ensure_active(owner: int | None) -> uuid.UUID:
    with locked(owner) as settings:
        rows = AgentProfile.objects.filter(owner=owner)
        row = rows.filter(name=SEED).first() or rows.order_by("name").first() or _seed(settings)
        settings.active_agent_profile_id = row.profile_id
        settings.save()
        return row.profile_id


def _seed(settings: Settings) -> AgentProfile:
    """A profile that launches what the settings describe."""
    from openhands.sdk.profiles.seed import build_seed_profile

    profile = build_seed_profile(documents.agent_settings(settings), settings.active_profile, name=SEED)
    return _stored(settings.owner_id, SEED, profile)


def _stored(owner: int | None, name: str, profile: Any) -> AgentProfile:
    row = AgentProfile.objects.filter(owner=owner, name=name).first()
    if row is None:
        if AgentProfile.objects.filter(owner=owner).count() >= LIMIT:
            raise TooManyProfiles()
        row = AgentProfile(owner_id=owner, name=name, profile_id=uuid.uuid4())
    else:
        row.revision += 1
    row.body = json.dumps(profile.model_dump(mode="json"))
    row.save()
    return row


def detail(*, owner: int | None, name: str) -> dict[str, Any]:
    """The wire's AgentProfileDetailResponse. Raises NoSuchProfile (404)."""
    return {"name": name, "profile": _model(_row(owner, name)).model_dump(mode="json")}


def load(*, owner: int | None, name: str) -> Any:
    """The SDK's profile. Raises NoSuchProfile (404)."""
    return _model(_row(owner, name))


def load_by_id(*, owner: int | None, profile_id: Any) -> Any:
    """The SDK's profile. Raises NoSuchProfile (404)."""
    return _model(_row_by_id(owner, profile_id))


def name_of(*, owner: int | None, profile_id: Any) -> str | None:
    found = AgentProfile.objects.filter(owner=owner, profile_id=profile_id).first()
    return found.name if found else None


def secret_refs(*, owner: int | None, profile_id: str) -> set[str] | None:
    """The secrets that the profile lets its agent see; None for all. Raises NoSuchProfile (404)."""
    refs = json.loads(_row_by_id(owner, profile_id).body).get("secret_refs")
    return None if refs is None else set(refs)


def _row(owner: int | None, name: str) -> AgentProfile:
    row = AgentProfile.objects.filter(owner=owner, name=name).first()
    if row is None:
        raise NoSuchProfile()
    return row


def _row_by_id(owner: int | None, profile_id: Any) -> AgentProfile:
    try:
        key = uuid.UUID(str(profile_id))
    except ValueError:
        raise NoSuchProfile() from None
    row = AgentProfile.objects.filter(owner=owner, profile_id=key).first()
    if row is None:
        raise NoSuchProfile()
    return row


def _model(row: AgentProfile) -> Any:
    """The columns are what counts: ids, names and revisions are the server's."""
    return parsed(row.name, json.loads(row.body), profile_id=row.profile_id, revision=row.revision)


@refuse_quietly
def parsed(name: str, data: Mapping[str, Any], *, profile_id: Any = None, revision: int = 0) -> Any:
    """The profile that ``data`` describes, under ``name``. Raises Invalid (422)."""
    sdk.require()
    from openhands.sdk.profiles.agent_profile import validate_agent_profile

    identity = {
        "id": str(profile_id or uuid.uuid4()),
        "name": name,
        "revision": revision,
    }
    return validate_agent_profile({**data, **identity})


def save(*, owner: int | None, name: str, data: Mapping[str, Any]) -> None:
    """Create or replace; a replaced one keeps its id. Raises TooManyProfiles (409), Invalid (422)."""
    profile = parsed(name, data)
    with locked(owner):
        _stored(owner, name, profile)


def rename(*, owner: int | None, name: str, new_name: str) -> None:
    """Its id stays, so what points at it still does. Raises NoSuchProfile (404), ProfileExists (409)."""
    with locked(owner):
        row = _row(owner, name)
        if name == new_name:
            return
        if AgentProfile.objects.filter(owner=owner, name=new_name).exists():
            raise ProfileExists()
        row.name = new_name
        row.save()


def delete(*, owner: int | None, name: str) -> None:
    """May be repeated; when it was active the next list activates another."""
    with locked(owner) as settings:
        row = AgentProfile.objects.filter(owner=owner, name=name).first()
        if row is None:
            return
        if settings.active_agent_profile_id == row.profile_id:
            settings.active_agent_profile_id = None
            settings.save()
        row.delete()


def activate(*, owner: int | None, profile_id: str) -> str:
    """Point at it, nothing more; its id. Raises NoSuchProfile (404)."""
    with locked(owner) as settings:
        row = _row_by_id(owner, profile_id)
        settings.active_agent_profile_id = row.profile_id
        settings.save()
        return str(row.profile_id)
