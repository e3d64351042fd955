"""What of an OpenAPI document breaks those who relied on an earlier one.

A request must still be accepted as it was sent; an answer must still hold what was read of it.
"""

import re

from tests.docs.shapes import Shapes

METHODS = {"get", "put", "post", "delete", "patch", "head", "options"}


def breaks(before, after):
    """Sentences that begin with ``METHOD /path``: what ``before`` promised and ``after`` breaks."""
    now, shapes = dict(_operations(after)), Shapes(before, after)
    for name, old in _operations(before):
        if (new := now.get(name)) is None:
            yield f"{name} is gone"
            continue
        for what in (*_responses(old, new, shapes), *_parameters(old, new), *_bodies(old, new, shapes)):
            yield f"{name} {what}"


def _operations(document):
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                yield f"{method.upper()} {re.sub(r'{[^}]*}', '{}', path)}", operation


def _responses(old, new, shapes):
    for status, answer in sorted(old["responses"].items()):
        if status not in new["responses"]:
            yield f"does not answer {status} any more"
        elif status.startswith("2"):
            for place in shapes.lost(_schema(answer), _schema(new["responses"][status])):
                yield f"does not answer {place} any more"


def _parameters(old, new):
    """Parameters that must be given; those of the path have no name that a client would see."""
    for place, name in sorted(_required(new) - _required(old)):
        yield f"demands {place} parameter {name}"
    for place, name in sorted(_named(old) - _named(new)):
        yield f"does not know {place} parameter {name} any more"


def _required(operation):
    return {
        (p["in"], p["name"])
        for p in operation.get("parameters", [])
        if p.get("required") and p["in"] != "path"
    }


def _named(operation):
    return {(p["in"], p["name"]) for p in operation.get("parameters", []) if p["in"] != "path"}


def _bodies(old, new, shapes):
    before, after = old.get("requestBody") or {}, new.get("requestBody") or {}
    if after.get("required") and not before.get("required"):
        yield "demands a body"
    for place in shapes.demanded(_schema(before), _schema(after)):
        yield f"demands {place}"
    for place in shapes.lost(_schema(before), _schema(after)):
        yield f"does not take {place} any more"


def _schema(body):
    return body.get("content", {}).get("application/json", {}).get("schema", {})
