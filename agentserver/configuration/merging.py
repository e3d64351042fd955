"""Merge patches: what a change of a JSON document means."""

from collections.abc import Mapping
from typing import Any


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """RFC 7386: objects merge, null deletes a key, everything else replaces."""
    result = dict(base)
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _under(result.get(key), value)
    return result


def merged_keeping_nulls(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """The same, but a null at the top is a value; below it deletes."""
    result = dict(base)
    for key, value in change.items():
        result[key] = None if value is None else _under(result.get(key), value)
    return result


def _under(before: Any, value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return merged(before if isinstance(before, Mapping) else {}, value)
