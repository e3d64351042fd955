"""Secrets inside JSON documents: opened for use, kept where no key opens them, never overwritten by masks."""

from collections.abc import Mapping
from typing import Any

from agentserver import sdk
from agentserver.errors import Invalid

TOKEN_PREFIX = "gAAAAA"  # noqa: S105 (how every Fernet token begins)
MASKS = frozenset({"**********", "<secret-hidden>"})
"""What clients are shown in place of a secret. Sent back, it means: leave it as it is."""

_GONE = object()


def is_token(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(TOKEN_PREFIX)


def is_mask(value: Any) -> bool:
    return isinstance(value, str) and value in MASKS


def opened(tree: Any) -> Any:
    """``tree`` with every encrypted text in plain; one that no key of ours opens is left out."""
    found = _opened(tree)
    return None if found is _GONE else found


def _opened(tree: Any) -> Any:
    if is_token(tree):
        plain = sdk.decrypt(tree)
        return _GONE if plain is None else plain
    if isinstance(tree, Mapping):
        pairs = ((key, _opened(value)) for key, value in tree.items())
        return {key: value for key, value in pairs if value is not _GONE}
    if isinstance(tree, list):
        return [item for item in map(_opened, tree) if item is not _GONE]
    return tree


def decrypted(tree: Any, loc: tuple[Any, ...] = ("body",)) -> Any:
    """What a client sent, in plain. Raises Invalid (422) for a text encrypted with a foreign key."""
    if is_token(tree):
        plain = sdk.decrypt(tree)
        if plain is None:
            raise foreign_key(loc)
        return plain
    if isinstance(tree, Mapping):
        return {key: decrypted(value, (*loc, key)) for key, value in tree.items()}
    if isinstance(tree, list):
        return [decrypted(item, (*loc, index)) for index, item in enumerate(tree)]
    return tree


def foreign_key(loc: tuple[Any, ...]) -> Invalid:
    message = "This secret was encrypted with a key that this server does not have. Send it in plain."
    return Invalid([{"loc": list(loc), "msg": message, "type": "secret_key"}])


def without_masks(change: Any, current: Any) -> Any:
    """``change`` with each mask replaced by the value it stands for in ``current``, or left out."""
    found = _unmasked(change, current)
    return None if found is _GONE else found


def _unmasked(change: Any, current: Any) -> Any:
    if is_mask(change):
        return current if isinstance(current, str) and current else _GONE
    if isinstance(change, Mapping):
        below = current if isinstance(current, Mapping) else {}
        pairs = ((key, _unmasked(value, below.get(key))) for key, value in change.items())
        return {key: value for key, value in pairs if value is not _GONE}
    if isinstance(change, list):
        below = current if isinstance(current, list) and len(current) == len(change) else [None] * len(change)
        pairs = (_unmasked(item, before) for item, before in zip(change, below, strict=True))
        return [item for item in pairs if item is not _GONE]
    return change


def keep_unopened(old: Any, new: Any, change: Any = None) -> None:
    """Put tokens of ``old`` that no key opens back into ``new``, except where ``change`` names them.

    So a server that runs under a wrong key for a while loses nothing.
    """
    if not isinstance(old, Mapping) or not isinstance(new, dict):
        return
    named = change if isinstance(change, Mapping) else {}
    for key, value in old.items():
        if is_token(value):
            if key not in named and new.get(key) is None and sdk.decrypt(value) is None:
                new[key] = value
        elif isinstance(value, Mapping) and (key not in named or isinstance(named[key], Mapping)):
            if new.get(key) is None and _has_unopened(value):
                new[key] = {}
            keep_unopened(value, new.get(key), named.get(key))


def _has_unopened(tree: Any) -> bool:
    if isinstance(tree, Mapping):
        return any(_has_unopened(value) for value in tree.values())
    return is_token(tree) and sdk.decrypt(tree) is None


def seal_headers(tree: Any) -> Any:
    """``tree`` with the values of every ``extra_headers`` encrypted, which the SDK leaves in plain."""
    if isinstance(tree, list):
        return [seal_headers(item) for item in tree]
    if not isinstance(tree, Mapping):
        return tree
    return {
        key: _sealed(value) if key == "extra_headers" else seal_headers(value) for key, value in tree.items()
    }


def _sealed(headers: Any) -> Any:
    if not isinstance(headers, Mapping):
        return headers
    return {key: sdk.encrypt(value) if isinstance(value, str) else value for key, value in headers.items()}


def for_storage() -> dict[str, Any]:
    """The SDK's serialization context that encrypts."""
    return {"cipher": sdk.cipher(), "expose_secrets": "encrypted"}
