"""Git on repositories that nobody vouches for, and what the contract suite leaves open."""

import subprocess

import pytest

from agentserver.errors import Problem
from agentserver.workspace import bases, changes, diffs, gitcommand, history

PROGRAMS = (
    "core.fsmonitor",
    "filter.trap.clean",
    "filter.trap.smudge",
    "filter.trap.process",
    "diff.trap.command",
    "diff.trap.textconv",
    "diff.external",
    "gpg.program",
    "core.sshCommand",
    "core.pager",
)
"""Settings of a repository whose value git runs."""


@pytest.fixture
def trapped(make_repository, tmp_path):
    program, mark = tmp_path / "trap.sh", tmp_path / "mark"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    repository = make_repository()
    repository.commit({"a.txt": "a\n", ".gitattributes": "*.txt filter=trap diff=trap\n"})
    for name in PROGRAMS:
        repository.git("config", name, str(program))
    repository.git("config", "log.showSignature", "true")
    hook = repository.path / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(program.read_text())
    hook.chmod(0o755)
    repository.write("a.txt", "changed\n")
    repository.mark = mark
    return repository


def test_looking_at_a_repository_runs_none_of_its_programs(trapped):
    found = changes.of_directory(trapped.path, None)
    head = trapped.path / "a.txt"

    assert found == {"a.txt": "UPDATED"}
    assert diffs.of_file(head, None) == diffs.Diff("a", "changed")
    assert len(history.commits(trapped.path, 5)[0]) == 1
    assert not trapped.mark.exists()


def test_the_trap_does_spring_for_plain_git(trapped):
    """Without this, the test above would prove nothing."""
    subprocess.run(["git", "status"], cwd=trapped.path, capture_output=True, check=False)

    assert trapped.mark.exists()


def test_a_submodule_counts_as_one_entry_and_runs_nothing(make_repository, trapped):
    outer = make_repository("outer")
    outer.commit({"a.txt": "a\n"})
    outer.git("clone", "-q", "--no-checkout", str(trapped.path), "inner")
    outer.git("-C", "inner", "reset", "-q")
    outer.git("add", "inner")
    outer.commit({})
    outer.git("-C", "inner", "config", "core.fsmonitor", str(trapped.mark.with_name("trap.sh")))
    trapped.mark.unlink(missing_ok=True)

    changes.of_directory(outer.path, "HEAD")

    assert not trapped.mark.exists()


def test_a_conflict_is_one_update(make_repository):
    repository = make_repository()
    repository.commit({"a.txt": "base\n"})
    repository.git("checkout", "-q", "-b", "side")
    repository.commit({"a.txt": "side\n"})
    repository.git("checkout", "-q", "main")
    repository.commit({"a.txt": "main\n"})
    with pytest.raises(subprocess.CalledProcessError):
        repository.git("merge", "-q", "side")

    assert changes.of_directory(repository.path, None) == {"a.txt": "UPDATED"}


def test_a_name_that_is_not_utf8_does_not_break_the_list(make_repository):
    repository = make_repository()
    repository.commit({"a.txt": "a\n"})
    (repository.path / "na\udcefve.txt").write_text("x")

    assert changes.of_directory(repository.path, None) == {"na\ufffdve.txt": "ADDED"}


def test_a_broken_repository_below_does_not_hide_the_others(make_repository, tmp_path):
    good = make_repository("both/good")
    good.commit({"a.txt": "a\n"})
    good.write("new.txt", "n\n")
    (tmp_path / "both/broken/.git").mkdir(parents=True)
    (tmp_path / "both/broken/.git/HEAD").write_text("garbage")

    assert changes.of_directory(tmp_path / "both", None) == {"good/new.txt": "ADDED"}


def test_a_link_is_compared_by_its_target_and_not_followed(make_repository, tmp_path):
    (tmp_path / "outside").write_text("secret")
    repository = make_repository()
    repository.commit({"a.txt": "a\n"})
    (repository.path / "link").symlink_to("../outside")

    assert diffs.of_file(repository.path / "link", None) == diffs.Diff("", "../outside")


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (b"gr\xfc\xdfe\n", "gr\ufffd\ufffde"),
        (b"a\0b", ""),
        (b"one\r\ntwo\rthree\n", "one\ntwo\nthree"),
        (b"page\x0cbreak\n", "page\x0cbreak"),
    ],
)
def test_text_is_shown_as_it_is_and_binary_not_at_all(make_repository, content, shown):
    repository = make_repository()
    repository.commit({"a": content})

    assert diffs.of_file(repository.path / "a", None) == diffs.Diff(shown, shown)


def test_five_megabytes_are_refused_on_either_side(make_repository):
    repository = make_repository()
    repository.commit({"a": b"x" * 5_000_000})
    for state in ("there", "gone"):
        if state == "gone":
            (repository.path / "a").unlink()
        with pytest.raises(diffs.TooLargeToShow):
            diffs.of_file(repository.path / "a", None)


def test_a_file_whose_directory_is_gone_still_has_its_old_text(make_repository):
    repository = make_repository()
    repository.commit({"deep/er/a.txt": "a\n", "b": "b\n"})
    (repository.path / "deep/er/a.txt").unlink()
    (repository.path / "deep/er").rmdir()
    (repository.path / "deep").rmdir()

    assert diffs.of_file(repository.path / "deep/er/a.txt", None) == diffs.Diff("a", "")


def test_a_program_that_hangs_is_ended_with_its_children(make_repository, monkeypatch, tmp_path):
    repository = make_repository()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text(f"#!/bin/sh\nsleep 600 & echo $! > {tmp_path}/pid; wait\n")
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")

    with pytest.raises(gitcommand.GitFailed):
        gitcommand.run(repository.path, "status", timeout=0.5)

    pid = (tmp_path / "pid").read_text().strip()
    state = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True).stdout.strip()
    assert state[:1] in ("", "Z")


@pytest.mark.parametrize("ref", ["--all", "nul\0", "", "main..main", "@{upstream}", "a b"])
def test_no_ref_is_taken_for_an_option_or_a_range(make_repository, ref):
    repository = make_repository()
    repository.commit({"a": "a"})

    with pytest.raises(Problem) as refused:
        bases.commit(repository.path, ref)

    assert refused.value.status_code == 400
