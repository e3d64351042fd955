"""``NOT_YET`` names what exists, and only shrinks."""

import subprocess

import pytest

from tests.contract import not_yet


def test_every_entry_names_a_file_or_test_that_exists(pytestconfig):
    files = {entry.partition("::")[0] for entry in not_yet.entries()}

    assert sorted(name for name in files if not (not_yet.HERE / name).is_file()) == []
    assert pytestconfig.stash.get(not_yet.UNKNOWN, []) == []


def test_the_list_has_no_entry_that_an_earlier_version_does_not_cover():
    earlier = _earlier_version()
    if earlier is None:
        pytest.skip("the repository's history is not at hand")
    known = set(not_yet.entries(earlier))

    added = [e for e in not_yet.entries() if e not in known and e.partition("::")[0] not in known]
    assert added == [], "NOT_YET may only shrink"


def _earlier_version():
    """The list as the commit before the last one that changed it had it; None without history."""
    commits = _git("log", "-2", "--format=%H", "--", "NOT_YET").split()
    return _git("show", f"{commits[-1]}:./NOT_YET") if commits else None


def _git(*arguments):
    try:
        run = subprocess.run(
            ["git", *arguments], cwd=not_yet.HERE, capture_output=True, text=True, timeout=10
        )
    except FileNotFoundError:
        return ""
    return run.stdout if run.returncode == 0 else ""
