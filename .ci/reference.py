"""Write the parts of the documentation that the code knows best: the settings and the OpenAPI document.

    .venv/bin/python .ci/reference.py settings    # docs/reference/settings.md, whenever conf.py changes
    .venv/bin/python .ci/reference.py openapi     # docs/openapi.json, at a release

docs/openapi.json is the API that the last release promised; tests/docs/test_openapi.py holds every later
change against it.
"""

import inspect
import json
import re
import sys
import tempfile
import types
import typing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = ROOT / "docs" / "reference" / "settings.md"
OPENAPI = ROOT / "docs" / "openapi.json"
HEAD = """\
# Settings

Every setting is a variable of the environment. Times are seconds unless a name says otherwise, lists
are numbered (`OH_SESSION_API_KEYS_0`, `_1`, ...) or JSON. A JSON file that
`OPENHANDS_AGENT_SERVER_CONFIG_PATH` names may hold the same settings without `OH_`, in lower case; the
environment wins. A value that cannot be used ends the start with a sentence that names it.

This page is written by `.ci/reference.py` from `agentserver/conf.py`.
"""


def settings_page() -> str:
    """The page of all settings, in the order and under the headings of conf.py."""
    from agentserver import conf

    parts = [HEAD]
    for heading, names in _sections(inspect.getsource(conf.Configuration)):
        parts.append(f"\n## {heading}\n\n| Setting | Type | Default | Meaning |\n| --- | --- | --- | --- |\n")
        parts += [_row(_variable(name), conf.Configuration.model_fields[name]) for name in names]
    parts.append("\n## A webhook\n\nEach begins with `OH_WEBHOOKS_0_`, the next with `OH_WEBHOOKS_1_`.\n\n")
    parts.append("| Setting | Type | Default | Meaning |\n| --- | --- | --- | --- |\n")
    parts += [_row(f"..._{n.upper()}", field) for n, field in conf.WebhookSpec.model_fields.items()]
    return "".join(parts)


def _sections(source: str) -> list[tuple[str, list[str]]]:
    """Comments of conf.py that head a block of fields, each with the names of its fields."""
    found: list[tuple[str, list[str]]] = []
    for line in source.splitlines():
        if heading := re.fullmatch(r"    # (\w[\w ]+)", line):
            found.append((heading[1], []))
        elif name := re.match(r"    (\w+): ", line):
            found[-1][1].append(name[1])
    return found


def _variable(name: str) -> str:
    from agentserver import conf

    return str(conf.Configuration.model_fields[name].validation_alias or f"OH_{name.upper()}")


def _row(name: str, field: typing.Any) -> str:
    cells = (f"`{name}`", _type(field.annotation), _default(field), field.description)
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |\n"


def _type(annotation: typing.Any) -> str:
    if isinstance(annotation, types.UnionType):
        (annotation,) = [one for one in typing.get_args(annotation) if one is not type(None)]
    if typing.get_origin(annotation) is typing.Literal:
        return ", ".join(f"`{value}`" for value in typing.get_args(annotation))
    origin = typing.get_origin(annotation) or annotation
    words = {bool: "`true`, `false`", int: "whole number", float: "number", str: "text", Path: "path"}
    return words.get(origin, {list: "list", dict: "JSON object"}.get(origin, "text"))


def _default(field: typing.Any) -> str:
    if field.default_factory is not None:
        return "the platform's data directory"
    if field.is_required():
        return "required"
    words = {None: "none", True: "`true`", False: "`false`"}
    return words.get(_hashable(field.default), f"`{field.default}`")


def _hashable(value: typing.Any) -> typing.Any:
    # 1 == True: numbers are not to be shown as switches.
    return value if value is None or isinstance(value, bool) else repr(value)


def openapi_document() -> str:
    """The OpenAPI document as JSON that is easy to compare; imports the agent SDK."""
    import django

    django.setup()
    from agentserver import sdk
    from agentserver.openapi.generator import Generator

    sdk.require()
    return f"{json.dumps(Generator().get_schema(public=True), indent=1, sort_keys=True, default=str)}\n"


def main(what: str) -> None:
    import os

    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as data:
        os.environ |= {"OH_PERSISTENCE_DIR": data, "DJANGO_SETTINGS_MODULE": "agentserver.settings"}
        target, make = {"settings": (SETTINGS, settings_page), "openapi": (OPENAPI, openapi_document)}[what]
        text = make()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
