"""The one-way flow, read from the imports of every module."""

import ast
import functools
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.architecture.rules import MAP, RULES, Rule

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("agentserver", "conversations", "bashevents")
LONGEST = 400
"""Lines of a module."""
TO_BE_DIVIDED = {"conversations/loaded.py"}
"""Longer ones; may only shrink."""


@functools.cache
def modules():
    """Name and syntax tree of every module of the project."""
    return [
        (_name(path), ast.parse(path.read_text()))
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    ]


def _name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(name, tree):
    """What ``name`` imports, at its top or inside functions: (imported, line)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(name, node)
            yield base, node.lineno
            # `from conversations import services`: the room is the imported name.
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)


def _absolute(name, node):
    if not node.level:
        return node.module
    parent = name.split(".")[: -node.level]
    return ".".join([*parent, node.module] if node.module else parent)


def crossings(rule, name, tree):
    """Imports of a module that ``rule`` forbids, a line each."""
    if not _matches(name, rule.rooms) or _matches(name, rule.but):
        return []
    # The name itself and what lies in it.
    forbidden = [pattern for room in rule.never for pattern in (room, f"{room}.*")]
    found = {line: target for target, line in imports(name, tree) if _matches(target, forbidden)}
    return [f"{name}:{line} imports {target}" for line, target in sorted(found.items())]


def _matches(name, patterns):
    return any(fnmatchcase(name, pattern) for pattern in patterns)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.rooms[0]}: {rule.why}")
def test_no_import_crosses_a_layer(rule):
    crossed = [line for name, tree in modules() for line in crossings(rule, name, tree)]

    assert not crossed, f"{rule.why}\n{MAP}\n" + "\n".join(crossed)


@pytest.mark.parametrize(
    "source",
    [
        "from conversations import consumers",
        "from conversations.consumers import EventConsumer",
        "import conversations.consumers",
        "def f():\n    from . import consumers",
        "def f():\n    from .consumers import EventConsumer",
    ],
)
def test_every_way_of_writing_an_import_is_seen(source):
    rule = Rule("views do not push", rooms=("*.views",), never=("*.consumers",))

    assert crossings(rule, "conversations.views", ast.parse(source)) != []


def test_files_stay_small_enough_to_be_read():
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if "migrations" not in path.parts
    }
    long = {name for name, lines in lengths.items() if lines > LONGEST}

    assert sorted(long) == sorted(TO_BE_DIVIDED), "a module is one idea; what is longer is more than one"
