"""Which skills there are: of a project, of the user, public, of an organisation, of a sandbox."""

import hashlib
import logging
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from agentserver import conf, sdk
from agentserver.catalog import outside, places
from agentserver.catalog.installing import SKILLS, Installed
from agentserver.errors import Problem

logger = logging.getLogger(__name__)

PUBLIC_SECONDS = 20
"""What a request waits for the public skills. Fetching goes on, so that the next request has them."""


def for_launch(*, owner: int | None) -> list[Any]:
    """The skills that an agent profile chooses from: the user's, and public ones fetched before."""
    return list({**_public_at_hand(), **_user(owner)}.values())


def public_names(*, owner: int | None) -> set[str]:
    """Which of ``for_launch`` are public: a profile may leave those out and keep the user's."""
    return set(_public_at_hand()) - set(_user(owner))


def _public_at_hand() -> dict[str, Any]:
    """Starting an agent never waits for a first fetch."""
    from openhands.sdk.skills.skill import PUBLIC_SKILLS_PATH_ENV
    from openhands.sdk.skills.utils import get_skills_cache_dir

    fetched = (
        bool(os.environ.get(PUBLIC_SKILLS_PATH_ENV)) or (get_skills_cache_dir() / "public-skills").is_dir()
    )
    return _public(None) if fetched else {}


def found(*, owner: int | None, wanted: Any) -> dict[str, Any]:
    """The wire's SkillsResponse for a SkillsBody; a source that fails is left out."""
    sdk.require()
    layers = {
        "sandbox": _of_sandbox(wanted.sandbox_config) if wanted.sandbox_config else {},
        "registered_marketplaces": _of_marketplaces(wanted.registered_marketplaces),
        "sdk_base": _base(owner, wanted),
        "org": _of_organisations(wanted.org_configs or []) if wanted.load_org else {},
        "project": _of_project(wanted.project_dir) if wanted.load_project else {},
    }
    winners: dict[str, tuple[str, Any]] = {}
    for source, skills in layers.items():
        winners.update({name: (source, skill) for name, skill in skills.items()})
    counts = dict.fromkeys(layers, 0)
    for source, _ in winners.values():
        counts[source] += 1
    return {"skills": [_view(skill) for _, skill in winners.values()], "sources": counts}


def _view(skill: Any) -> dict[str, Any]:
    return skill.to_skill_info().model_dump(mode="json")


def _base(owner: int | None, wanted: Any) -> dict[str, Any]:
    public = _public(wanted.marketplace_path) if wanted.load_public else {}
    return {**public, **(_user(owner) if wanted.load_user else {})}


def _named(skills: Iterable[Any]) -> dict[str, Any]:
    return {skill.name: skill for skill in skills}


def _user(owner: int | None) -> dict[str, Any]:
    sdk.require()
    from openhands.sdk.skills import load_installed_skills, load_user_skills

    if owner is None:
        return _named(load_user_skills())
    return _named(load_installed_skills(installed_dir=places.installed(owner, "skills")))


def _public(marketplace_path: str | None) -> dict[str, Any]:
    from openhands.sdk.skills import load_public_skills

    try:
        return _named(
            outside.within(PUBLIC_SECONDS, lambda: load_public_skills(marketplace_path=marketplace_path))
        )
    except Problem:
        return {}


def _of_project(directory: str | None) -> dict[str, Any]:
    from openhands.sdk.skills import load_project_skills

    if not directory or not Path(directory).is_dir():
        return {}
    return _named(load_project_skills(directory))


def _of_sandbox(sandbox: Any) -> dict[str, Any]:
    """The hosts of a sandbox that serve the agent's web applications, told as a skill."""
    from openhands.sdk.skills import Skill

    workers = [url for url in sandbox.exposed_urls if url.name.startswith("WORKER_")]
    if not workers:
        return {}
    lines = "\n".join(f"* {url.url} (port {url.port})" for url in workers)
    content = f"Web applications that listen on these ports can be opened at these addresses:\n{lines}"
    return {"work_hosts": Skill(name="work_hosts", content=content, trigger=None, source=None)}


def _of_organisations(organisations: Sequence[Any]) -> dict[str, Any]:
    return _of_repositories([(each.org_repo_url, None, None) for each in organisations])


def _of_marketplaces(registrations: Sequence[Any]) -> dict[str, Any]:
    loading = [each for each in registrations if each.auto_load]
    return _of_repositories([(each.source, each.ref, each.repo_path) for each in loading])


def _of_repositories(repositories: Sequence[tuple[str, str | None, str | None]]) -> dict[str, Any]:
    skills: dict[str, Any] = {}
    for repository in repositories:
        try:
            skills |= outside.within(PUBLIC_SECONDS, _fetched, *repository)
        except Exception as error:
            logger.warning("Skills of a repository are left out: %s", type(error).__name__)
    return skills


def _fetched(source: str, ref: str | None, repo_path: str | None) -> dict[str, Any]:
    from openhands.sdk.extensions.fetch import fetch
    from openhands.sdk.skills import load_skills_from_dir

    cache = (
        conf.current().persistence_dir
        / "cache"
        / "repositories"
        / hashlib.sha256(source.encode()).hexdigest()[:16]
    )
    root = fetch(source, cache, ref=ref, repo_path=repo_path, update=True)
    directory = next((root / name for name in ("skills", ".agents/skills") if (root / name).is_dir()), root)
    return {name: skill for group in load_skills_from_dir(directory) for name, skill in group.items()}


def catalog(*, owner: int | None) -> list[dict[str, Any]]:
    """Skills that an agent profile may choose from, each with its origin: public or user."""
    public = {name: ("public", skill) for name, skill in _public(None).items()}
    user = {name: ("user", skill) for name, skill in _user(owner).items()}
    return [{**_view(skill), "origin": origin} for origin, skill in {**public, **user}.values()]


def marketplace(*, owner: int | None) -> list[dict[str, Any]]:
    """Public skills that can be installed; none when they cannot be reached."""
    installed = Installed(SKILLS, owner).names()
    return [
        {
            "name": name,
            "description": skill.description,
            "source": f"github:OpenHands/extensions/skills/{name}",
            "installed": name in installed,
        }
        for name, skill in sorted(_public(None).items())
    ]


def sync() -> dict[str, str]:
    """Fetch the public skills anew. The wire's SyncResponse."""
    sdk.require()
    try:
        fetched = outside.within(PUBLIC_SECONDS, _fetch_public)
    except Problem:
        fetched = False
    if not fetched:
        return {
            "status": "error",
            "message": "The public skills cannot be fetched at present. Try again later.",
        }
    return {"status": "success", "message": "The public skills are up to date."}


def _fetch_public() -> bool:
    from openhands.sdk.skills import skill
    from openhands.sdk.skills.utils import get_skills_cache_dir, update_skills_repository

    repository = update_skills_repository(
        skill.PUBLIC_SKILLS_REPO, skill.PUBLIC_SKILLS_REF, get_skills_cache_dir(), strict=True
    )
    skill._invalidate_public_skills_cache()
    return repository is not None
