"""Which skills there are: of a project, of the user, public, of an organisation, of a sandbox."""

from typing import Any

from agentserver import sdk
from agentserver.catalog import places


def for_launch(*, owner: int | None) -> list[Any]:
    """The skills that an agent profile chooses from: the user's, and the public ones that are at hand."""
    return [*_user(owner).values()]


def _user(owner: int | None) -> dict[str, Any]:
    sdk.require()
    from openhands.sdk.skills import load_installed_skills, load_user_skills

    if owner is None:
        return {skill.name: skill for skill in load_user_skills()}
    installed = load_installed_skills(installed_dir=places.installed(owner, "skills"))
    return {skill.name: skill for skill in installed}
