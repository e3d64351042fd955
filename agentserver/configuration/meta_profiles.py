"""Saved rules for choosing among LLM profiles."""

import json
from typing import Any

from agentserver import sdk
from agentserver.configuration import pointers
from agentserver.configuration.models import MetaProfile
from agentserver.configuration.owners import locked, settings_row
from agentserver.configuration.refusals import refuse_quietly
from agentserver.errors import Conflict, NotFound, invalid

LIMIT = 50


class NoSuchProfile(NotFound):
    sentence = "There is no meta-profile of this name."


class TooManyProfiles(Conflict):
    sentence = f"There are {LIMIT} meta-profiles, as many as are kept. Delete one first."


def listed(*, owner: int | None) -> dict[str, Any]:
    """The wire's MetaProfileListResponse."""
    rows = MetaProfile.objects.filter(owner=owner).order_by("name")
    return {
        "meta_profiles": [_summary(row) for row in rows],
        "active_meta_profile": settings_row(owner).active_meta_profile,
    }


def _summary(row: MetaProfile) -> dict[str, Any]:
    body = json.loads(row.body)
    classes = body.get("classes") or []
    return {
        "name": row.name,
        "classifier_model": body.get("classifier_model"),
        "num_classes": len(classes),
    }


def load(*, owner: int | None, name: str) -> Any:
    """The SDK's MetaProfile. Raises NoSuchProfile (404)."""
    row = MetaProfile.objects.filter(owner=owner, name=name).first()
    if row is None:
        raise NoSuchProfile()
    return _parsed(json.loads(row.body))


def detail(*, owner: int | None, name: str) -> dict[str, Any]:
    """The wire's MetaProfileDetailResponse. Raises NoSuchProfile (404)."""
    return {
        "name": name,
        "config": load(owner=owner, name=name).model_dump(mode="json"),
    }


@refuse_quietly
def _parsed(data: Any) -> Any:
    sdk.require()
    from openhands.sdk.llm.meta_profile_store import MetaProfile as Model

    return Model.model_validate(data)


def save(*, owner: int | None, name: str, data: Any) -> None:
    """Create or replace. Raises TooManyProfiles (409), Invalid (422)."""
    profile = _parsed(data)
    if not profile.classes and profile.prompt_template is None:
        raise invalid(
            ["body", "classes"],
            "Name at least one class, or give a prompt_template.",
            "missing",
        )
    with locked(owner):
        known = MetaProfile.objects.filter(owner=owner, name=name).exists()
        if not known and MetaProfile.objects.filter(owner=owner).count() >= LIMIT:
            raise TooManyProfiles()
        body = json.dumps(profile.model_dump(mode="json"))
        MetaProfile.objects.update_or_create(owner_id=owner, name=name, defaults={"body": body})


def delete(*, owner: int | None, name: str) -> None:
    """May be repeated; deleting the active one switches routing off."""
    with locked(owner) as settings:
        MetaProfile.objects.filter(owner=owner, name=name).delete()
        if settings.active_meta_profile == name:
            pointers.point_at_meta_profile(settings, None)
            settings.save()


def activate(*, owner: int | None, name: str) -> bool:
    """Switch routing by it on; whether the agent of the settings can route. Raises NotFound (404)."""
    with locked(owner) as settings:
        applied = pointers.point_at_meta_profile(settings, name)
        settings.save()
        return applied
