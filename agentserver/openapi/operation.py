"""One operation as the document shows it, and the short notation of its parameters."""

from dataclasses import dataclass
from typing import Any

_TYPES: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "string"}},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 100},
    "time": {"type": "string", "format": "date-time"},
    "uuid": {"type": "string", "format": "uuid"},
    "uuids": {"type": "array", "items": {"type": "string", "format": "uuid"}},
}


@dataclass(frozen=True, kw_only=True)
class Operation:
    """``body`` and ``answer``: a schema as ``components.schema_of`` takes it; None: there is none.

    ``query``: names with ``*`` where required and ``:type`` where no string, parted by blanks.
    ``shapes``: media types of the answer. ``scoped``: also below a conversation's path.
    """

    method: str
    path: str
    body: Any = None
    body_kind: str = "application/json"
    answer: Any = None
    shapes: tuple[str, ...] = ("application/json",)
    ok: int = 200
    also_ok: tuple[int, ...] = ()
    query: str = ""
    scoped: bool = False
    deprecated: bool = False
    errors: tuple[int, ...] = ()

    @property
    def open(self) -> bool:
        """Whether it needs no key."""
        return not self.path.startswith(("/api/", "/v1/", "/app-backends/", "/metrics"))


def operation(method: str, path: str, **fields: Any) -> Operation:
    return Operation(method=method, path=path, **fields)


def parameters(path: str, query: str) -> list[dict[str, Any]]:
    """OpenAPI parameters of the path's names and of ``query``."""
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    found = [{"name": n, "in": "path", "required": True, "schema": _path_type(n)} for n in names]
    return found + [_query_parameter(word) for word in query.split()]


def _path_type(name: str) -> dict[str, Any]:
    return _TYPES["uuid"] if name in ("conversation_id", "runtime_conversation_id") else _TYPES["str"]


def _query_parameter(word: str) -> dict[str, Any]:
    name, _, kind = word.partition(":")
    return {
        "name": name.rstrip("*"),
        "in": "query",
        "required": name.endswith("*"),
        "schema": _TYPES[kind or "str"],
    }
