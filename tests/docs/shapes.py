"""Shapes of JSON in two OpenAPI documents, compared property by property."""

DEPTH = 12
"""Levels that are looked at; shapes may hold themselves."""


class Shapes:
    """Compares a schema of the document ``before`` with one of ``after``; places are dotted names."""

    def __init__(self, before, after):
        self._before, self._after = before, after

    def lost(self, old, new, place="", seen=()):
        """Properties and values that the old schema named and the new one does not."""
        old, new, seen = self._opened(old, new, place, seen)
        if old is None:
            return
        yield from (
            f"{place or 'the body'}: {value!r}" for value in old.get("enum", []) if _barred(value, new)
        )
        properties = new.get("properties", {})
        for name, inner in old.get("properties", {}).items():
            where = f"{place}.{name}".lstrip(".")
            if name in properties:
                yield from self.lost(inner, properties[name], where, seen)
            elif properties:
                yield where
        if "items" in old and "items" in new:
            yield from self.lost(old["items"], new["items"], f"{place}[]", seen)

    def demanded(self, old, new, place="", seen=()):
        """Properties that must be given by the new schema and need not be by the old one."""
        old, new, seen = self._opened(old, new, place, seen)
        if old is None:
            return
        for name in sorted(set(new.get("required", [])) - set(old.get("required", []))):
            yield f"{place}.{name}".lstrip(".")
        for name, inner in old.get("properties", {}).items():
            if name in new.get("properties", {}):
                yield from self.demanded(inner, new["properties"][name], f"{place}.{name}".lstrip("."), seen)

    def _opened(self, old, new, place, seen):
        """Both schemas without their references; None where they were looked at already."""
        pair = (old.get("$ref"), new.get("$ref"))
        if len(seen) > DEPTH or (pair in seen and pair != (None, None)):
            return None, None, seen
        return _followed(old, self._before), _followed(new, self._after), (*seen, pair)


def _followed(schema, document):
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def _barred(value, new):
    return "enum" in new and value not in new["enum"]
