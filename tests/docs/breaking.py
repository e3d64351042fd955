"""What of an OpenAPI document breaks those who relied on an earlier one."""

import re
from itertools import chain


def breaks(before, after):
    """Sentences that begin with ``METHOD /path``: what ``before`` promised and ``after`` breaks."""
    now = dict(_operations(after))
    for name, old in _operations(before):
        if (new := now.get(name)) is None:
            yield f"{name} is gone"
        else:
            yield from (
                f"{name} {what}" for what in chain(_responses(old, new), _demands(old, new, before, after))
            )


def _operations(document):
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in {"get", "put", "post", "delete", "patch", "head", "options"}:
                yield f"{method.upper()} {re.sub(r'{[^}]*}', '{}', path)}", operation


def _responses(old, new):
    for status in sorted(set(old["responses"]) - set(new["responses"])):
        yield f"does not answer {status} any more"


def _demands(old, new, before, after):
    for place, name in sorted(_required(new) - _required(old)):
        yield f"demands {place} parameter {name}"
    for name in sorted(_body(new, after) - _body(old, before)):
        yield f"demands {name or 'a body'}"


def _required(operation):
    """Parameters that must be given; those of the path have no name that a client would see."""
    parameters = operation.get("parameters", [])
    return {(p["in"], p["name"]) for p in parameters if p.get("required") and p["in"] != "path"}


def _body(operation, document):
    """Properties that a JSON body must have, and "" if there must be one."""
    body = operation.get("requestBody") or {}
    schema = body.get("content", {}).get("application/json", {}).get("schema", {})
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return set(schema.get("required", [])) | ({""} if body.get("required") else set())
