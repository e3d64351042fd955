"""Taking secrets out of what leaves the server: stored keys, their values wherever they occur, tokens."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from agentserver import sdk
from conversations.texts import MASK

_TOKEN = re.compile(r"gAAAAA[A-Za-z0-9_\-]{60,}={0,2}")
_KEYS = {"api_key", "aws_access_key_id", "aws_secret_access_key", "aws_session_token"}
_MAPS = {"headers", "extra_headers", "env", "environment"}
_SCHEMES = ("bearer ", "basic ", "token ")
SHORTEST, SHORTEST_IN_MAPS = 4, 8
"""Characters from which on a value is masked wherever it occurs; a shorter one only where it is stored.

Values of headers and environments need more: most are plain words.
"""


class Masker:
    """Masks the documents of one conversation. ``stored``: those that hold its secrets. Needs the SDK."""

    def __init__(self, stored: Iterable[str]):
        values: set[str] = set()
        for text in stored:
            values.update(sdk.decrypt(token) or "" for token in _TOKEN.findall(text))
            values.update(_plain_secrets(_parsed(text)))
        spellings = {
            s for value in values if len(value) >= SHORTEST and value != MASK for s in _spellings(value)
        }
        longest_first = sorted(spellings, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, longest_first))) if spellings else None

    def masked(self, text: str) -> str:
        """JSON ``text`` without secrets; byte for byte the same where it holds none."""
        document = _parsed(text)
        if document is None:
            return self._masked_string(text)
        clean = self._masked_node(document)
        return text if clean == document else orjson.dumps(clean).decode()

    def _masked_node(self, node: Any) -> Any:
        if isinstance(node, str):
            return self._masked_string(node)
        if isinstance(node, list):
            return [self._masked_node(item) for item in node]
        if isinstance(node, dict):
            return {key: self._masked_entry(key, value, node) for key, value in node.items()}
        return node

    def _masked_entry(self, key: str, value: Any, holder: dict[str, Any]) -> Any:
        if _is_secret(key, value, holder):
            return MASK
        if key in _MAPS and isinstance(value, dict):
            return {name: MASK if isinstance(v, str) and v else v for name, v in value.items()}
        return self._masked_node(value)

    def _masked_string(self, text: str) -> str:
        text = _TOKEN.sub(MASK, text)
        return self._values.sub(MASK, text) if self._values else text


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _is_secret(key: str, value: Any, holder: dict[str, Any]) -> bool:
    if not isinstance(value, str) or not value or value == MASK:
        return False
    return key in _KEYS or (key == "value" and str(holder.get("kind", "")).endswith("Secret"))


def _plain_secrets(node: Any) -> Iterator[str]:
    """The values that stand where secrets are stored, encrypted or not."""
    if isinstance(node, list):
        for item in node:
            yield from _plain_secrets(item)
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        if _is_secret(key, value, node):
            yield value
        elif key in _MAPS and isinstance(value, dict):
            yield from _of_map(value)
        else:
            yield from _plain_secrets(value)


def _of_map(values: dict[str, Any]) -> Iterator[str]:
    for value in values.values():
        if not isinstance(value, str):
            continue
        secret = value.partition(" ")[2] if value.lower().startswith(_SCHEMES) else value
        if len(secret) >= SHORTEST_IN_MAPS:
            yield secret


def _spellings(value: str) -> set[str]:
    """``value`` as it is, and as it is written in JSON that is a text in JSON."""
    spellings = {value}
    for ascii_only in (False, True):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        spellings |= {once, json.dumps(once, ensure_ascii=ascii_only)[1:-1]}
    return spellings


def sealed_for_others(stored: Iterable[str]) -> bool:
    """Whether some secret was encrypted with a key that this installation does not have. Needs the SDK."""
    return any(sdk.decrypt(token) is None for text in stored for token in _TOKEN.findall(text))
