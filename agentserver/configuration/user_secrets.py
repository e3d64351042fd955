"""Named secrets of an owner: listed by name, read one by one."""

from typing import Any

from agentserver import sdk
from agentserver.configuration import agent_profiles
from agentserver.configuration.models import Secret
from agentserver.configuration.owners import locked
from agentserver.configuration.sealing import is_mask
from agentserver.errors import Conflict, NotFound, invalid

LIMIT = 1000


class NoSuchSecret(NotFound):
    sentence = "There is no secret of this name, or its value cannot be opened with this server's key."


class TooManySecrets(Conflict):
    sentence = f"There are {LIMIT} secrets, as many as are kept. Delete one first."


def listed(*, owner: int | None, agent_profile_id: str | None = None) -> list[dict[str, Any]]:
    """Names and descriptions; with a profile's id those that it lets its agent see.

    Raises NotFound (404) for an unknown profile.
    """
    allowed = (
        None
        if agent_profile_id is None
        else agent_profiles.secret_refs(owner=owner, profile_id=agent_profile_id)
    )
    rows = Secret.objects.filter(owner=owner).order_by("name")
    return [
        {"name": row.name, "description": row.description}
        for row in rows
        if allowed is None or row.name in allowed
    ]


def value(*, owner: int | None, name: str) -> str:
    """Raises NoSuchSecret (404)."""
    row = Secret.objects.filter(owner=owner, name=name).first()
    found = sdk.decrypt(row.value) if row else None
    if found is None:
        raise NoSuchSecret()
    return found


def values(*, owner: int | None) -> dict[str, str]:
    """Every secret that can be opened."""
    pairs = ((row.name, sdk.decrypt(row.value)) for row in Secret.objects.filter(owner=owner))
    return {name: found for name, found in pairs if found is not None}


def put(*, owner: int | None, name: str, value: str, description: str | None) -> dict[str, Any]:
    """Create or replace. Raises TooManySecrets (409), Invalid (422)."""
    if not value.strip() or is_mask(value):
        raise invalid(["body", "value"], "Give the secret itself: not empty, not masked.")
    with locked(owner):
        known = Secret.objects.filter(owner=owner, name=name).exists()
        if not known and Secret.objects.filter(owner=owner).count() >= LIMIT:
            raise TooManySecrets()
        fields = {"value": sdk.encrypt(value), "description": description}
        Secret.objects.update_or_create(owner_id=owner, name=name, defaults=fields)
    return {"name": name, "description": description}


def delete(*, owner: int | None, name: str) -> None:
    """Raises NoSuchSecret (404)."""
    with locked(owner):
        gone, _ = Secret.objects.filter(owner=owner, name=name).delete()
    if not gone:
        raise NoSuchSecret()
