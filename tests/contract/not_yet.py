"""The list of what is not built yet, ``NOT_YET``: one test file or test id a line; it may only shrink.

A listed test must fail: one that passes is reported, so that its line goes. A listed file is not
run at all; its line goes, or becomes ids, when its area is begun.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIST = HERE / "NOT_YET"
UNKNOWN = pytest.StashKey[list[str]]()


def entries(text=None):
    """The entries of the list, or of ``text``."""
    text = LIST.read_text() if text is None else text
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def mark(config, items):
    """Skip listed files, expect listed tests to fail; keep in mind what is listed and not there."""
    listed = set(entries())
    ours = {name_of(item): item for item in items if item.path.parent == HERE}
    for name, item in ours.items():
        if item.path.name in listed:
            item.add_marker(pytest.mark.skip(reason="its area is not built yet, see NOT_YET"))
        elif name in listed:
            item.add_marker(pytest.mark.xfail(strict=True, reason="listed in NOT_YET"))
    config.stash[UNKNOWN] = _unknown(config, listed, ours)


def name_of(item):
    """``test_file.py::test_name[parameters]``."""
    return item.nodeid.rpartition("/")[2] if "[" not in item.nodeid else _name_with_parameters(item)


def _name_with_parameters(item):
    path, _, parameters = item.nodeid.partition("[")
    return f"{path.rpartition('/')[2]}[{parameters}"


def _unknown(config, listed, ours):
    # A file of which only some tests were asked for says nothing about the others.
    partly = {arg.partition("::")[0].rpartition("/")[2] for arg in config.args if "::" in arg}
    whole = {item.path.name for item in ours.values()} - partly
    return sorted(name for name in listed - set(ours) if "::" in name and name.partition("::")[0] in whole)
