"""Installing, updating and removing extensions of one kind; the SDK's installation manager does the work."""

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentserver import sdk
from agentserver.catalog import outside, places
from agentserver.errors import Conflict, Invalid, NotFound, Problem, invalid

SECONDS = 150
"""What fetching an extension may take; the SDK gives up on a clone after 120 s."""


class CannotFetch(Problem):
    status_code, code = 400, "cannot_fetch"
    sentence = "The source cannot be fetched. Check that it exists and can be reached from this server."


@dataclass(frozen=True, slots=True)
class Kind:
    """``directory``: its place below the data directory. ``interface``: the SDK's way to load one."""

    word: str
    directory: str
    interface: Callable[[], Any]


def _skill() -> Any:
    from openhands.sdk.skills.installed import SkillInstallationInterface

    return SkillInstallationInterface()


def _plugin() -> Any:
    from openhands.sdk.plugin.installed import PluginInstallationInterface

    return PluginInstallationInterface()


SKILLS = Kind("skill", "skills", _skill)
PLUGINS = Kind("plugin", "plugins", _plugin)


@functools.lru_cache(maxsize=256)
def _lock(directory: Path) -> threading.Lock:
    return threading.Lock()


class Installed:
    """The extensions of one kind that one owner has installed."""

    def __init__(self, kind: Kind, owner: int | None):
        sdk.require()
        from openhands.sdk.extensions.installation import InstallationManager

        self.kind = kind
        self.directory = places.installed(owner, kind.directory)
        self._manager = InstallationManager(
            installation_dir=self.directory, installation_interface=kind.interface()
        )

    def all(self) -> list[Any]:
        with _lock(self.directory):
            return sorted(self._manager.list_installed(), key=lambda info: info.name)

    def names(self) -> set[str]:
        return {info.name for info in self.all()}

    def one(self, name: str) -> Any:
        """Raises NotFound (404), Invalid (422) for what is no name."""
        return self._known(self._named(self._manager.get, name))

    def install(self, *, source: str, ref: str | None, repo_path: str | None, force: bool) -> Any:
        """Raises CannotFetch (400), Conflict (409), Invalid (422), TooSlow (504)."""
        return self._fetching(
            functools.partial(self._manager.install, source, ref=ref, repo_path=repo_path, force=force)
        )

    def refresh(self, name: str) -> Any:
        """Fetch it again; when that fails what is installed stays. Raises as ``install``, NotFound (404)."""
        self.one(name)
        return self._known(self._fetching(functools.partial(self._manager.update, name)))

    def switch(self, name: str, *, enabled: bool) -> None:
        """Raises NotFound (404)."""
        change = self._manager.enable if enabled else self._manager.disable
        with _lock(self.directory):
            self._known(self._named(change, name) or None)

    def remove(self, name: str) -> None:
        """Raises NotFound (404)."""
        with _lock(self.directory):
            self._known(self._named(self._manager.uninstall, name) or None)

    def _known(self, found: Any) -> Any:
        if found is None:
            raise NotFound(f"No {self.kind.word} of this name is installed.")
        return found

    def _named(self, function: Callable[[str], Any], name: str) -> Any:
        try:
            return function(name)
        except ValueError:
            raise invalid(
                ["path", "name"], "A name has lower-case letters, digits and single hyphens."
            ) from None

    def _fetching(self, work: Callable[[], Any]) -> Any:
        return outside.within(SECONDS, self._fetched, work)

    def _fetched(self, work: Callable[[], Any]) -> Any:
        from openhands.sdk.extensions.fetch import ExtensionFetchError

        try:
            with _lock(self.directory):
                return work()
        except FileExistsError:
            raise Conflict(
                f"This {self.kind.word} is installed already. Refresh it, or install with force."
            ) from None
        except (ExtensionFetchError, PermissionError):
            raise CannotFetch() from None
        except Exception as error:
            raise self._refused(error) from None

    def _refused(self, error: Exception) -> Invalid:
        return invalid(
            ["body", "source"], f"There is no valid {self.kind.word} at this source ({type(error).__name__})."
        )


def view(info: Any) -> dict[str, Any]:
    """The wire's description of something installed; a password in its source is not shown."""
    from openhands.sdk.utils.redact import redact_url_credentials

    return {
        "name": info.name,
        "version": info.version,
        "description": info.description,
        "enabled": info.enabled,
        "source": redact_url_credentials(info.source),
        "resolved_ref": info.resolved_ref,
        "repo_path": info.repo_path,
        "installed_at": info.installed_at,
        "install_path": str(info.install_path),
    }
