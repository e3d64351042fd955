"""Worktrees of conversations: made from the right commit, removed without a trace."""

import uuid
from types import SimpleNamespace

import pytest

from agentserver.workspace import worktrees
from agentserver.workspace.gitcommand import NoSuchCommit


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch, tmp_path):
    monkeypatch.setattr(worktrees, "ROOT", tmp_path / "worktrees")


@pytest.fixture
def create():
    """Callable: a worktree, with the SDK's options by name."""

    def _create(directory, **options):
        defaults = {"base": "default_branch", "ref": None, "branch_prefix": "openhands/"}
        identity = uuid.uuid4()
        made = worktrees.create(
            directory=directory, conversation_id=identity, options=SimpleNamespace(**defaults | options)
        )
        return identity, made

    return _create


def test_a_conversation_gets_a_branch_of_its_own_and_leaves_none(make_repository, create):
    repository = make_repository()
    sha = repository.commit({"inner/a.txt": "a\n"})

    identity, made = create(repository.path / "inner")

    assert made.directory == worktrees.ROOT / str(identity) / "repository" / "inner"
    assert (made.directory / "a.txt").read_text() == "a\n"
    assert repository.git("rev-parse", f"openhands/{identity}") == sha
    (made.directory / "a.txt").write_text("uncommitted")
    worktrees.remove(conversation_id=identity)
    assert list(worktrees.ROOT.iterdir()) == []
    assert repository.git("branch", "--format=%(refname:short)") == "main"
    assert len(repository.git("worktree", "list").splitlines()) == 1


def test_the_default_branch_is_fetched_from_the_remote(make_repository, create):
    origin, clone = make_repository("origin"), make_repository("clone")
    origin.commit({"a.txt": "a\n"})
    clone.git("remote", "add", "origin", str(origin.path))
    clone.git("fetch", "-q", "origin")
    clone.git("reset", "-q", "--hard", "origin/main")
    newest = origin.commit({"a.txt": "newest\n"})

    identity, made = create(clone.path)

    assert clone.git("rev-parse", made.branch) == newest
    worktrees.remove(conversation_id=identity)


@pytest.mark.parametrize(("options", "content"), [({"base": "head"}, "side\n"), ({}, "main\n")])
def test_without_a_remote_head_or_the_local_main_branch_is_the_start(
    make_repository, create, options, content
):
    repository = make_repository()
    repository.commit({"a.txt": "main\n"})
    repository.git("checkout", "-q", "-b", "side")
    repository.commit({"a.txt": "side\n"})

    _, made = create(repository.path, **options, branch_prefix="")

    assert (made.directory / "a.txt").read_text() == content


def test_a_ref_can_be_the_start_and_must_exist(make_repository, create):
    repository = make_repository()
    first = repository.commit({"a.txt": "first\n"})
    repository.commit({"a.txt": "second\n"})

    _, made = create(repository.path, base="ref", ref=first)

    assert (made.directory / "a.txt").read_text() == "first\n"
    with pytest.raises(NoSuchCommit):
        create(repository.path, base="ref", ref="missing")


def test_what_is_no_repository_or_has_no_commit_stays_as_it_is(make_repository, create, tmp_path):
    (tmp_path / "plain").mkdir()

    assert create(tmp_path / "plain")[1] is None
    assert create(make_repository("empty").path)[1] is None
    worktrees.remove(conversation_id=uuid.uuid4())


def test_removing_works_when_the_repository_has_gone(make_repository, create):
    repository = make_repository()
    repository.commit({"a": "a"})
    identity, _ = create(repository.path)
    (repository.path / ".git").rename(repository.path / "gone")

    worktrees.remove(conversation_id=identity)

    assert not (worktrees.ROOT / str(identity)).exists()
