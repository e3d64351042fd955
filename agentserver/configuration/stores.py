"""The tables as the profile stores that the SDK asks, in place of files in somebody's home.

The SDK takes whatever has a store's methods. Where it makes its default store itself (tools that
list or switch models), ``install`` puts these in the place of its classes. No profile is written
to disk.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model

from agentserver import conf, sdk, threads
from agentserver.configuration import connections, llm_profiles, meta_profiles
from agentserver.errors import NotFound, Problem

NOBODY = 0
"""An owner without rows."""

_UNSAID = -1
_acting: ContextVar[int | None] = ContextVar("acting_owner", default=_UNSAID)


@contextmanager
def acting_for(owner: int | None) -> Iterator[None]:
    """Within it the SDK's default stores are those of ``owner``."""
    token = _acting.set(owner)
    try:
        yield
    finally:
        _acting.reset(token)


def _owner() -> int | None:
    """Whose stores the SDK gets. Where nobody said so: the operator's, unless there are other users."""
    owner = _acting.get()
    if owner != _UNSAID:
        return owner
    return NOBODY if _off_loop(_has_users) else None


def _has_users() -> bool:
    return get_user_model().objects.filter(is_active=True, is_staff=False).exists()


def _off_loop[T](function: Callable[..., T], **arguments: Any) -> T:
    """``function`` with the database at hand: from any thread, event loops included."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return function(**arguments)
    return threads.reading().submit(function, **arguments).result()


def _loaded(function: Callable[..., Any], **arguments: Any) -> Any:
    """As the SDK's stores do: FileNotFoundError for a missing one, ValueError for a broken one."""
    try:
        return _off_loop(function, **arguments)
    except NotFound as error:
        raise FileNotFoundError(f"Profile {arguments['name']!r} not found") from error
    except Problem as error:
        raise ValueError(f"Profile {arguments['name']!r} cannot be used") from error


class LLMProfiles:
    """What the SDK asks of an LLMProfileStore, for one owner. Usable from any thread."""

    def __init__(self, owner: int | None):
        self.owner = owner

    def load(self, name: str, *, cipher: Any = None, resolve_provider: bool = True) -> Any:
        """The LLM with its plain key. Raises FileNotFoundError, ValueError."""
        return _loaded(llm_profiles.load, owner=self.owner, name=name.removesuffix(".json"))

    def names(self) -> list[str]:
        return _off_loop(llm_profiles.names, owner=self.owner)

    def list(self) -> list[str]:
        return [f"{name}.json" for name in self.names()]

    def list_summaries(self) -> list[dict[str, Any]]:
        return _off_loop(llm_profiles.listed, owner=self.owner)["profiles"]

    def resolve_provider_connection(self, llm: Any, *, cipher: Any = None) -> Any:
        """``llm`` with the key of its connection. Raises ValueError if that is gone."""
        try:
            return _off_loop(connections.applied, owner=self.owner, llm=llm)
        except Problem as error:
            raise ValueError("The provider connection of this LLM is gone") from error


class MetaProfiles:
    """What the SDK asks of a MetaProfileStore, for one owner. Usable from any thread."""

    def __init__(self, owner: int | None):
        self.owner = owner

    def load(self, name: str) -> Any:
        """Raises FileNotFoundError, ValueError."""
        return _loaded(meta_profiles.load, owner=self.owner, name=name.removesuffix(".json"))

    def list(self) -> list[str]:
        return [entry["name"] for entry in self.list_summaries()]

    def list_summaries(self) -> list[dict[str, Any]]:
        return _off_loop(meta_profiles.listed, owner=self.owner)["meta_profiles"]


# The modules that make a default store by themselves, measured with openhands-sdk 1.58.2.
_MAKERS = {
    "LLMProfileStore": (
        LLMProfiles,
        (
            "openhands.sdk.conversation.impl.local_conversation",
            "openhands.sdk.llm.cleanup_profile",
            "openhands.sdk.llm.fallback_strategy",
            "openhands.sdk.subagent.registry",
            "openhands.sdk.tool.builtins.switch_llm",
            "openhands.sdk.tool.builtins.vision_inspect",
        ),
    ),
    "MetaProfileStore": (
        MetaProfiles,
        ("openhands.sdk.tool.builtins.classify_and_switch_llm",),
    ),
}


@functools.cache
def install() -> None:
    """Let the SDK make these stores where it would make its own. May be called again."""
    sdk.require()
    for class_name, (ours, modules) in _MAKERS.items():
        for module in map(importlib.import_module, modules):
            original = getattr(module, class_name, None)
            if original is not None:
                setattr(module, class_name, _maker(ours, original))


def _maker(ours: type, original: type) -> Callable[..., Any]:
    def make(base_dir: Any = None, **options: Any) -> Any:
        if base_dir is None or Path(base_dir) == conf.current().persistence_dir / "profiles":
            return ours(_owner())
        return original(base_dir, **options)  # somebody chose a directory of their own

    return make
