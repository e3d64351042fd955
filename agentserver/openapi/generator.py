"""The document itself: every described operation that the router serves, as drf-spectacular's generator."""

import re
from typing import Any

from django.urls import Resolver404, resolve
from drf_spectacular.generators import SchemaGenerator

from agentserver import sdk
from agentserver.openapi.components import PREFIX, Components
from agentserver.openapi.operation import Operation, parameters
from agentserver.openapi.operations import OPERATIONS

SAMPLE_ID = "00000000-0000-0000-0000-000000000001"
SCOPE = "/api/conversations/{runtime_conversation_id}"
SECURITY = {
    "APIKeyHeader": {"type": "apiKey", "in": "header", "name": "X-Session-API-Key"},
    "APIKeyCookie": {"type": "apiKey", "in": "cookie", "name": "oh_workspace_session_key"},
}
_WORDS = re.compile(r"[^A-Za-z0-9]+")


class Generator(SchemaGenerator):
    """What ``DEFAULT_GENERATOR_CLASS`` names; needs the agent SDK, so never call it on an event loop."""

    def parse(self, input_request: Any, public: bool) -> dict[str, Any]:
        sdk.require()
        self.collected = Components()
        paths: dict[str, Any] = {}
        for path, operation in every_path():
            if (view := _view_of(path, operation.method)) is not None:
                paths.setdefault(path, {})[operation.method.lower()] = self._shown(path, operation, view)
        return paths

    def _shown(self, path: str, operation: Operation, view: Any) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "operationId": _WORDS.sub("_", f"{operation.method.lower()}{path}").strip("_") or "get_root",
            "tags": [_tag(path)],
            "description": _description(view, operation.method),
            "parameters": parameters(path, operation.query),
            "responses": self._responses(operation),
        }
        if operation.body is not None:
            content = {operation.body_kind: {"schema": self.collected.schema_of(operation.body)}}
            shown["requestBody"] = {"required": True, "content": content}
        if not operation.open:
            shown["security"] = [{"APIKeyHeader": []}, *_cookie(path)]
        if operation.deprecated:
            shown["deprecated"] = True
        return shown

    def _responses(self, operation: Operation) -> dict[str, Any]:
        responses: dict[str, Any] = {}
        for status in (operation.ok, *operation.also_ok):
            responses[str(status)] = {"description": "Done"}
            if operation.answer is not None:
                schema = self.collected.schema_of(operation.answer)
                responses[str(status)]["content"] = {kind: {"schema": schema} for kind in operation.shapes}
        failures = operation.errors if operation.open else (401, *operation.errors)
        for status in failures:
            responses[str(status)] = self._failure("Error")
        if operation.body is not None or operation.query or "{" in operation.path:
            responses["422"] = self._failure("Invalid")
        return responses

    def _failure(self, name: str) -> dict[str, Any]:
        schema = self.collected.schema_of(name)
        return {"description": name, "content": {"application/json": {"schema": schema}}}


def complete(result: dict[str, Any], generator: Generator, **_: Any) -> dict[str, Any]:
    """Postprocessing: the schemas collected on the way, and how to show a key."""
    schemas = generator.collected.schemas
    name_by_value(schemas, schemas)
    result["components"] = {"schemas": schemas, "securitySchemes": SECURITY}
    return result


def name_by_value(tree: Any, schemas: dict[str, Any]) -> None:
    """Let each discriminator in ``tree`` name what it tells apart by the value that clients send.

    The agent SDK's unions name it by a tag of Python's.
    """
    if isinstance(tree, dict):
        found = tree.get("discriminator")
        if isinstance(found, dict) and "mapping" in found:
            targets = ((ref, schemas[ref.removeprefix(PREFIX)]) for ref in found["mapping"].values())
            values = {
                ref: schema["properties"][found["propertyName"]].get("const") for ref, schema in targets
            }
            if all(values.values()):
                found["mapping"] = {value: ref for ref, value in values.items()}
    for below in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        name_by_value(below, schemas)


def every_path() -> list[tuple[str, Operation]]:
    """Each operation with its path, and with the one below a conversation where there is one."""
    found = [(operation.path, operation) for operation in OPERATIONS]
    scoped = [(SCOPE + o.path.removeprefix("/api"), o) for o in OPERATIONS if o.scoped]
    return found + scoped


def sample(path: str) -> str:
    """``path`` with something in place of its parameters."""
    return re.sub(r"\{(\w+)\}", lambda name: SAMPLE_ID if name[1].endswith("conversation_id") else "x", path)


def _view_of(path: str, method: str) -> Any:
    """The view function that answers ``method`` there; None if none does."""
    try:
        view = resolve(sample(path)).func
    except Resolver404:
        return None
    actions = getattr(view, "actions", None)
    answers = method.lower() in actions if actions else hasattr(view.cls, method.lower())
    return view if answers else None


def _description(view: Any, method: str) -> str:
    name = (getattr(view, "actions", None) or {}).get(method.lower(), method.lower())
    text = getattr(getattr(view.cls, name), "__doc__", None) or view.cls.__doc__ or ""
    return " ".join(text.split())


def _tag(path: str) -> str:
    parts = [part for part in path.split("/") if part and not part.startswith("{")]
    if "conversations" in parts and len(parts) > 2 and parts[2] in ("bash", "file", "git", "vscode"):
        return parts[2]
    return parts[1] if parts[:1] == ["api"] else "server"


def _cookie(path: str) -> list[dict[str, Any]]:
    return [{"APIKeyCookie": []}] if "/workspace" in path and path.startswith("/api/conversations") else []
