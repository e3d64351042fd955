"""Which plugins there are, installed and at hand."""

import json
import logging
from pathlib import Path
from typing import Any

from agentserver import sdk
from agentserver.catalog import outside, places
from agentserver.catalog.installing import PLUGINS, Installed, view
from agentserver.errors import Problem, invalid

logger = logging.getLogger(__name__)

FILES = 500
"""Names of files told of one plugin, at the most."""
MARKETPLACE_SECONDS = 20


class CannotUse(Problem):
    """A plugin source that cannot be used; ``detail`` is the SDK's {code, message}."""

    code = "plugin_source"

    def __init__(self, error: Any):
        self.status_code = error.status_code
        super().__init__({"code": error.code, "message": error.message})


def described(info: Any) -> dict[str, Any]:
    """The wire's InstalledPluginResponse."""
    return {**view(info), **_contents(Path(info.install_path))}


def _contents(root: Path) -> dict[str, Any]:
    from openhands.sdk.plugin import Plugin

    try:
        skills = Plugin.load(root).skills
    except Exception:  # it was loaded when it was installed; somebody has changed it since
        return {"skills": None, "files": _files(root)}
    return {"skills": [_skill(skill) for skill in skills], "files": _files(root)}


def _skill(skill: Any) -> dict[str, Any]:
    return {"name": skill.name, "description": skill.description}


def _files(root: Path) -> list[str]:
    paths = (
        path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts
    )
    return sorted(path.relative_to(root).as_posix() for path in paths)[:FILES]


def found(*, owner: int | None, wanted: Any) -> list[dict[str, Any]]:
    """Enabled plugins of the user and of a project."""
    plugins: dict[str, Any] = {}
    if wanted.load_user:
        plugins |= {plugin.name: plugin for plugin in _user(owner)}
    if wanted.load_project and wanted.project_dir and Path(wanted.project_dir).is_dir():
        from openhands.sdk.plugin.discovery import load_project_plugins

        plugins |= {plugin.name: plugin for plugin in load_project_plugins(wanted.project_dir)}
    return [_available(plugin) for plugin in plugins.values()]


def _user(owner: int | None) -> list[Any]:
    sdk.require()
    from openhands.sdk.plugin.discovery import load_user_plugins
    from openhands.sdk.plugin.installed import load_installed_plugins

    if owner is None:
        return load_user_plugins()
    return load_installed_plugins(installed_dir=places.installed(owner, "plugins"))


def _available(plugin: Any) -> dict[str, Any]:
    return {
        "name": plugin.name,
        "version": plugin.version,
        "description": plugin.description,
        "path": str(plugin.path),
        "skills": [_skill(skill) for skill in plugin.skills],
        "files": _files(Path(plugin.path)),
    }


def looked_at(*, wanted: Any) -> dict[str, Any]:
    """What a source holds, without installing it. The wire's FetchPluginResponse. Raises CannotUse."""
    sdk.require()
    from openhands.sdk.plugin.strict_fetch import PluginSourceError, fetch_plugin_strict

    try:
        plugin = outside.within(
            wanted.timeout + 5,
            lambda: fetch_plugin_strict(
                source=wanted.source,
                ref=wanted.ref,
                repo_path=wanted.repo_path,
                secrets=wanted.secrets,
                timeout=wanted.timeout,
                allow_local=True,
            ),
        )
    except PluginSourceError as error:
        raise CannotUse(error) from None
    except (ValueError, OSError):
        raise invalid(["body", "source"], "This can be neither an address nor a path.") from None
    return plugin.model_dump(mode="json")


def marketplace(*, owner: int | None) -> list[dict[str, Any]]:
    """Public plugins that can be installed; none when they cannot be reached."""
    sdk.require()
    installed = Installed(PLUGINS, owner).names()
    try:
        entries = outside.within(MARKETPLACE_SECONDS, _public_entries)
    except Problem:
        entries = []
    return [{**entry, "installed": entry["name"] in installed} for entry in entries]


def _public_entries() -> list[dict[str, Any]]:
    from openhands.sdk.marketplace import Marketplace
    from openhands.sdk.skills import skill
    from openhands.sdk.skills.utils import get_skills_cache_dir, update_skills_repository

    root = update_skills_repository(skill.PUBLIC_SKILLS_REPO, skill.PUBLIC_SKILLS_REF, get_skills_cache_dir())
    path = root / skill.DEFAULT_MARKETPLACE_PATH if root else None
    if path is None or not path.exists():
        return []
    try:
        market = Marketplace.model_validate({**json.loads(path.read_text()), "path": str(root)})
    except ValueError:
        logger.warning("The public marketplace cannot be read")
        return []
    return [_entry(plugin) for plugin in market.plugins]


def _entry(plugin: Any) -> dict[str, Any]:
    source = plugin.source
    known = {
        "name": plugin.name,
        "description": plugin.description,
        "skills": None,
        "files": None,
        "path": None,
    }
    if isinstance(source, str):
        place = (
            f"github:OpenHands/extensions/{source.removeprefix('./')}" if source.startswith("./") else source
        )
        return {**known, "source": place, "ref": None, "repo_path": None}
    place = f"github:{source.repo}" if source.repo else source.url
    return {**known, "source": place, "ref": source.ref, "repo_path": source.path}
