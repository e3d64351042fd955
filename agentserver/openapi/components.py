"""Schemas out of pydantic models: the agent SDK's, ours, and shapes written as they look.

A schema is named in one of these ways:

- ``"package.module:Model"``: a pydantic model or type, imported when the document is made;
- ``"Name"``: a model of ``shapes``;
- ``[schema]``: a list of them;
- a dict: JSON schema as it is.
"""

import importlib
from typing import Any

from pydantic import TypeAdapter

PREFIX = "#/components/schemas/"


class Components:
    """Collects the schemas of one document."""

    def __init__(self) -> None:
        self.schemas: dict[str, Any] = {}
        self._known: dict[str, dict[str, Any]] = {}

    def schema_of(self, what: Any) -> dict[str, Any]:
        if isinstance(what, dict):
            return what
        if isinstance(what, list):
            return {"type": "array", "items": self.schema_of(what[0])}
        if what not in self._known:
            self._known[what] = self._add(what)
        return self._known[what]

    def _add(self, what: str) -> dict[str, Any]:
        module, _, name = what.rpartition(":")
        model = getattr(importlib.import_module(module or "agentserver.openapi.shapes"), name)
        schema = TypeAdapter(model).json_schema(ref_template=PREFIX + "{model}")
        self.schemas.update(schema.pop("$defs", {}))
        if "$ref" in schema:
            return schema
        self.schemas[name] = schema
        return {"$ref": PREFIX + name}
