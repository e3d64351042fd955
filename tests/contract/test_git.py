"""Git: ``/api/git`` and the git of one conversation, on real repositories."""

import datetime

import pytest

from tests.contract.kit import MIB, Repo, has_detail


@pytest.fixture
def repo(tmp_path):
    return Repo(tmp_path / "repo")


@pytest.fixture
def changes(http):
    """Callable: the changes of a repository as {path: status}."""

    def _changes(path, prefix="/api/git", **params):
        response = http.get(f"{prefix}/changes", params={"path": str(path), **params})
        assert response.status_code == 200, response.text
        assert all(set(change) == {"status", "path"} for change in response.json())
        found = {change["path"]: change["status"] for change in response.json()}
        assert len(found) == len(response.json()), "no file twice"
        assert list(found) == sorted(found), "sorted by path"
        return found

    return _changes


@pytest.fixture
def diff(http):
    def _diff(path, prefix="/api/git", **params):
        response = http.get(f"{prefix}/diff", params={"path": str(path), **params})
        assert response.status_code == 200, response.text
        assert set(response.json()) == {"modified", "original"}
        return response.json()

    return _diff


@pytest.fixture
def commits(http):
    def _commits(path, **params):
        response = http.get("/api/git/commits", params={"path": str(path), **params})
        assert response.status_code == 200, response.text
        return response.json()

    return _commits


@pytest.fixture
def commit_changes(http):
    def _commit_changes(path, sha):
        response = http.get(f"/api/git/commits/{sha}/changes", params={"path": str(path)})
        assert response.status_code == 200, response.text
        return {change["path"]: change["status"] for change in response.json()}

    return _commit_changes


# --- changes ---------------------------------------------------------------------------------


def test_a_clean_repository_has_no_changes(changes, repo):
    repo.commit(**{"a.txt": "a\n"})
    assert changes(repo.path) == {}


def test_every_kind_of_change_is_reported(changes, repo):
    repo.commit(**{name: f"{name}\n" * 9 for name in ("same", "edited", "gone", "old", "staged")})
    repo.write("edited", "edited\n")
    (repo.path / "gone").unlink()
    repo.git("mv", "old", "new")
    repo.write("staged", "staged\n")
    repo.git("add", "staged")
    repo.write("untracked", "u\n")
    repo.write("deep/er/untracked", "u\n")
    repo.write("added", "a\n")
    repo.git("add", "added")
    assert changes(repo.path) == {
        "added": "ADDED",
        "deep/er/untracked": "ADDED",
        "edited": "UPDATED",
        "gone": "DELETED",
        "new": "ADDED",
        "old": "DELETED",
        "staged": "UPDATED",
        "untracked": "ADDED",
    }


def test_ignored_files_are_no_changes(changes, repo):
    repo.commit(**{".gitignore": "*.log\nbuild/\n"})
    for name in ("a.log", "build/out", "kept.txt"):
        repo.write(name)
    assert changes(repo.path) == {"kept.txt": "ADDED"}


def test_a_mode_change_is_an_update(changes, repo):
    repo.commit(**{"run.sh": "#!/bin/sh\n"})
    (repo.path / "run.sh").chmod(0o755)
    assert changes(repo.path) == {"run.sh": "UPDATED"}


def test_a_change_undone_is_no_change(changes, repo):
    repo.commit(**{"a.txt": "a\n"})
    repo.write("a.txt", "b\n")
    assert changes(repo.path) == {"a.txt": "UPDATED"}
    repo.write("a.txt", "a\n")
    assert changes(repo.path) == {}


def test_a_repository_without_commits_has_only_additions(changes, repo):
    assert changes(repo.path) == {}
    repo.write("first.txt")
    assert changes(repo.path) == {"first.txt": "ADDED"}
    assert changes(repo.path, ref="HEAD") == {"first.txt": "ADDED"}


def test_no_repository_has_no_changes(changes, tmp_path):
    (tmp_path / "file.txt").write_text("x")
    assert changes(tmp_path) == {}
    assert changes(tmp_path / "missing") == {}


def test_changes_against_a_given_commit(changes, repo):
    first = repo.commit(**{"a.txt": "1\n", "b.txt": "1\n"})
    repo.commit(**{"a.txt": "2\n"})
    repo.write("c.txt")
    assert changes(repo.path, ref=first) == {"a.txt": "UPDATED", "c.txt": "ADDED"}
    assert changes(repo.path, ref="HEAD") == {"c.txt": "ADDED"}
    assert changes(repo.path, ref=first[:8]) == changes(repo.path, ref=first)


def test_committed_work_on_a_branch_stays_visible(changes, repo):
    """Without a remote, a branch is compared with where it left the main branch."""
    repo.commit(**{"base.txt": "b\n"})
    repo.git("checkout", "-q", "-b", "work")
    repo.commit(**{"work.txt": "w\n"})
    assert changes(repo.path) == {"work.txt": "ADDED"}
    assert changes(repo.path, ref="HEAD") == {}


def test_work_is_compared_with_the_remote_branch(changes, repo, tmp_path):
    repo.commit(**{"base.txt": "b\n"})
    clone = Repo(tmp_path / "clone")
    clone.git("remote", "add", "origin", str(repo.path))
    clone.git("fetch", "-q", "origin")
    clone.git("reset", "-q", "--hard", "origin/main")
    clone.git("remote", "set-head", "origin", "main")
    assert changes(clone.path) == {}
    clone.commit(**{"local.txt": "l\n"})
    clone.write("dirty.txt")
    assert changes(clone.path) == {"dirty.txt": "ADDED", "local.txt": "ADDED"}


def test_a_directory_inside_a_repository_lists_its_own_changes(changes, repo):
    repo.commit(**{"top.txt": "t\n", "inner/a.txt": "a\n"})
    repo.write("top.txt", "changed\n")
    repo.write("inner/a.txt", "changed\n")
    repo.write("inner/b.txt")
    assert changes(repo.path / "inner") == {"a.txt": "UPDATED", "b.txt": "ADDED"}


def test_repositories_directly_below_a_directory_are_included(changes, tmp_path):
    for name in ("one", "two"):
        Repo(tmp_path / name).commit(**{"a.txt": "a\n"})
        (tmp_path / name / "new.txt").write_text("n\n")
    assert changes(tmp_path) == {"one/new.txt": "ADDED", "two/new.txt": "ADDED"}


def test_a_nested_repository_is_not_counted_twice(changes, repo):
    repo.commit(**{"a.txt": "a\n"})
    Repo(repo.path / "nested").commit(**{"n.txt": "n\n"})
    repo.write("nested/new.txt")
    repo.write("nested-not/x.txt")
    assert changes(repo.path) == {"nested/new.txt": "ADDED", "nested-not/x.txt": "ADDED"}


@pytest.mark.beyond
@pytest.mark.parametrize(
    "name",
    ["with space.txt", "naïve.txt", "новый файл.txt", "文件.txt", 'quo"te.txt', "tab\there.txt", "🎉.txt"],
)
def test_odd_names_are_reported_as_they_are(changes, commit_changes, repo, name):
    """The reference fails on spaces (400) and returns quoted, mangled paths for the rest."""
    repo.write(name, "1\n")
    assert changes(repo.path) == {name: "ADDED"}
    sha = repo.commit()
    assert commit_changes(repo.path, sha) == {name: "ADDED"}
    repo.write(name, "2\n")
    assert changes(repo.path) == {name: "UPDATED"}
    (repo.path / name).unlink()
    assert changes(repo.path) == {name: "DELETED"}


@pytest.mark.beyond
def test_a_file_that_became_a_link_is_an_update(changes, repo):
    """The reference answers 400 for the whole repository."""
    repo.commit(**{"a.txt": "a\n", "b.txt": "b\n"})
    (repo.path / "b.txt").unlink()
    (repo.path / "b.txt").symlink_to("a.txt")
    assert changes(repo.path) == {"b.txt": "UPDATED"}


@pytest.mark.parametrize("ref", ["no-such-ref", "0" * 40, "--output=pwned", "HEAD~5"])
def test_an_unknown_ref_is_refused(http, repo, ref):
    repo.commit(**{"a.txt": "a\n"})
    for endpoint, path in (("changes", repo.path), ("diff", repo.path / "a.txt")):
        has_detail(http.get(f"/api/git/{endpoint}", params={"path": str(path), "ref": ref}), 400)
    assert [entry.name for entry in repo.path.iterdir() if entry.name != ".git"] == ["a.txt"]


@pytest.mark.parametrize("endpoint", ["changes", "diff", "commits"])
def test_a_path_is_needed(http, endpoint):
    has_detail(http.get(f"/api/git/{endpoint}"), 422)


# --- diff ------------------------------------------------------------------------------------


def test_a_diff_holds_the_text_before_and_after(diff, repo):
    repo.commit(**{"a.txt": "one\ntwo\n"})
    repo.write("a.txt", "one\nzwei\ndrei\n")
    assert diff(repo.path / "a.txt") == {"original": "one\ntwo", "modified": "one\nzwei\ndrei"}


def test_an_unchanged_file_is_the_same_on_both_sides(diff, repo):
    repo.commit(**{"a.txt": "\n  indented\n\n"})
    got = diff(repo.path / "a.txt")
    assert got["original"] == got["modified"] == "\n  indented\n"


def test_a_new_file_has_no_text_before(diff, repo):
    repo.commit(**{"a.txt": "a\n"})
    repo.write("new.txt", "new\n")
    assert diff(repo.path / "new.txt") == {"original": "", "modified": "new"}


def test_a_deleted_file_has_no_text_after(diff, repo):
    repo.commit(**{"a.txt": "a\n"})
    (repo.path / "a.txt").unlink()
    assert diff(repo.path / "a.txt") == {"original": "a", "modified": ""}


def test_a_renamed_file_has_its_old_text_at_the_old_path(diff, repo):
    repo.commit(**{"old.txt": "text\n"})
    repo.git("mv", "old.txt", "new.txt")
    assert diff(repo.path / "old.txt") == {"original": "text", "modified": ""}
    assert diff(repo.path / "new.txt") == {"original": "", "modified": "text"}


@pytest.mark.parametrize("name", ["with space.txt", "naïve.txt", "文件.txt", 'quo"te.txt', "🎉.txt"])
def test_a_diff_of_an_odd_name_works(diff, repo, name):
    repo.commit(**{name: "é\n"})
    repo.write(name, "ü\n")
    assert diff(repo.path / name) == {"original": "é", "modified": "ü"}


def test_a_diff_against_a_given_commit(diff, repo):
    first = repo.commit(**{"a.txt": "1\n"})
    repo.commit(**{"a.txt": "2\n"})
    repo.write("a.txt", "3\n")
    assert diff(repo.path / "a.txt", ref=first) == {"original": "1", "modified": "3"}
    assert diff(repo.path / "a.txt", ref="HEAD") == {"original": "2", "modified": "3"}
    assert diff(repo.path / "a.txt") == {"original": "2", "modified": "3"}


def test_a_diff_in_a_repository_without_commits(diff, repo):
    repo.write("a.txt", "first\n")
    assert diff(repo.path / "a.txt") == {"original": "", "modified": "first"}


def test_a_diff_outside_a_repository_is_empty(diff, tmp_path):
    (tmp_path / "plain.txt").write_text("x")
    assert diff(tmp_path / "plain.txt") == {"original": None, "modified": None}


def test_a_binary_file_does_not_break_the_diff(diff, repo):
    repo.commit(**{"b.bin": bytes(range(256))})
    repo.write("b.bin", b"\xff\xfe\x00")
    got = diff(repo.path / "b.bin")
    assert got["modified"] == "" and isinstance(got["original"], str)


def test_a_diff_of_nothing_is_refused(http, repo):
    repo.commit(**{"a.txt": "a\n"})
    has_detail(http.get("/api/git/diff", params={"path": str(repo.path / "missing")}), 400)


def test_a_file_over_one_mebibyte_is_refused(http, diff, repo):
    repo.commit(**{"a.txt": "a\n"})
    repo.write("fits.txt", "x" * MIB)
    repo.write("large.txt", "x" * (MIB + 1))
    assert diff(repo.path / "fits.txt")["modified"] == "x" * MIB
    has_detail(http.get("/api/git/diff", params={"path": str(repo.path / "large.txt")}), 400)


# --- commits ---------------------------------------------------------------------------------


def test_commits_are_listed_newest_first(commits, repo):
    shas = [repo.commit(f"commit {n}", **{"a.txt": f"{n}\n"}) for n in range(3)]
    page = commits(repo.path)
    assert set(page) == {"commits", "has_more"} and page["has_more"] is False
    assert [commit["sha"] for commit in page["commits"]] == shas[::-1]
    first = page["commits"][-1]
    assert set(first) == {"sha", "short_sha", "subject", "author", "timestamp"}
    assert (first["subject"], first["author"]) == ("commit 0", "Ada")
    assert len(first["short_sha"]) >= 4 and first["sha"].startswith(first["short_sha"])
    assert datetime.datetime.fromisoformat(first["timestamp"]).tzinfo is not None


@pytest.mark.parametrize("limit, has_more", [(1, True), (2, True), (3, False), (200, False)])
def test_the_number_of_commits_can_be_limited(commits, repo, limit, has_more):
    for n in range(3):
        repo.commit(f"commit {n}")
    page = commits(repo.path, limit=limit)
    assert len(page["commits"]) == min(limit, 3) and page["has_more"] is has_more


def test_fifty_commits_unless_told_otherwise(commits, repo):
    for n in range(51):
        repo.commit(f"commit {n}")
    page = commits(repo.path)
    assert len(page["commits"]) == 50 and page["has_more"] is True


@pytest.mark.parametrize("limit", [0, -1, 201, "x"])
def test_the_number_of_commits_has_bounds(http, repo, limit):
    has_detail(http.get("/api/git/commits", params={"path": str(repo.path), "limit": limit}), 422)


def test_no_commits_without_a_repository_or_before_the_first(commits, repo, tmp_path):
    empty = {"commits": [], "has_more": False}
    assert commits(tmp_path) == empty and commits(repo.path) == empty
    assert commits(tmp_path / "missing") == empty


@pytest.mark.parametrize("subject", ["größe 🎉", "with | pipe; and 'quotes\"", "tab\there"])
def test_the_subject_of_a_commit_is_kept(commits, repo, subject):
    repo.commit(f"{subject}\n\nA body that is not shown.")
    assert commits(repo.path)["commits"][0]["subject"] == subject


def test_a_commit_tells_what_it_changed(commit_changes, repo):
    repo.commit(**{name: f"{name}\n" * 9 for name in ("edited", "gone", "old")})
    repo.git("mv", "old", "new")
    repo.git("rm", "-q", "gone")
    sha = repo.commit(edited="x\n", added="x\n")
    repo.write("untracked")
    expected = {"added": "ADDED", "edited": "UPDATED", "gone": "DELETED", "new": "ADDED", "old": "DELETED"}
    assert commit_changes(repo.path, sha) == expected
    assert commit_changes(repo.path, sha[:8]) == expected


def test_the_first_commit_added_everything(commit_changes, repo):
    sha = repo.commit(**{"a": "a\n", "b/c": "c\n"})
    assert commit_changes(repo.path, sha) == {"a": "ADDED", "b/c": "ADDED"}


def test_a_merge_is_compared_with_its_first_parent(commit_changes, repo):
    repo.commit(base="b\n")
    repo.git("checkout", "-q", "-b", "side")
    repo.commit(side="s\n")
    repo.git("checkout", "-q", "main")
    repo.commit(main="m\n")
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    assert commit_changes(repo.path, repo.git("rev-parse", "HEAD")) == {"side": "ADDED"}


@pytest.mark.parametrize(
    "sha, status",
    [("0" * 40, 400), ("dead", 400), ("HEAD", 422), ("main", 422), ("abc", 422), ("--help", 422)],
)
def test_the_changes_of_no_commit(http, repo, sha, status):
    repo.commit(a="a\n")
    has_detail(http.get(f"/api/git/commits/{sha}/changes", params={"path": str(repo.path)}), status)


def test_the_diff_of_one_commit_does_not_look_at_the_disk(diff, repo):
    first = repo.commit(**{"a.txt": "1\n"})
    second = repo.commit(**{"a.txt": "2\n"})
    repo.git("rm", "-q", "a.txt")
    third = repo.commit()
    assert diff(repo.path / "a.txt", commit=first) == {"original": "", "modified": "1"}
    assert diff(repo.path / "a.txt", commit=second) == {"original": "1", "modified": "2"}
    assert diff(repo.path / "a.txt", commit=third) == {"original": "2", "modified": ""}


def test_a_diff_is_of_a_commit_or_against_a_ref_not_both(http, repo):
    sha = repo.commit(**{"a.txt": "1\n"})
    query = {"path": str(repo.path / "a.txt")}
    has_detail(http.get("/api/git/diff", params={**query, "commit": sha, "ref": "HEAD"}), 400)
    has_detail(http.get("/api/git/diff", params={**query, "commit": "HEAD"}), 422)
    has_detail(http.get("/api/git/diff", params={**query, "commit": "0" * 40}), 400)


# --- one conversation, and hosted repositories -------------------------------------------------


def test_a_conversation_shows_the_changes_of_its_workspace(start, workspace, changes, diff, http):
    repo = Repo(workspace)
    sha = repo.commit(**{"a.txt": "a\n"})
    prefix = f"{start().path}/git"
    repo.write("a.txt", "b\n")
    repo.write("new.txt", "n\n")
    assert changes(workspace, prefix) == {"a.txt": "UPDATED", "new.txt": "ADDED"}
    assert diff(workspace / "a.txt", prefix) == {"original": "a", "modified": "b"}
    listed = http.get(f"{prefix}/commits", params={"path": str(workspace)}).json()["commits"]
    assert [commit["sha"] for commit in listed] == [sha]
    changed = http.get(f"{prefix}/commits/{sha}/changes", params={"path": str(workspace)})
    assert changed.json() == [{"status": "ADDED", "path": "a.txt"}]


def test_a_conversation_shows_no_repository_outside_its_workspace(start, tmp_path, http):
    other = Repo(tmp_path / "other")
    other.commit(**{"a.txt": "a\n"})
    prefix = f"{start().path}/git"
    for endpoint, path in (("changes", other.path), ("diff", other.path / "a.txt"), ("commits", other.path)):
        has_detail(http.get(f"{prefix}/{endpoint}", params={"path": str(path)}), 422)


def test_hosted_repositories_need_a_token(secured_server):
    """Without one the server does not even try the network."""
    search = "/api/git/repositories/search"
    response = secured_server.http.get(search, params={"provider": "github"})
    assert (response.status_code, response.json()) == (
        200,
        {"items": [], "next_page_id": None, "missing_token": True},
    )
    has_detail(secured_server.http.get(search, params={"provider": "sourceforge"}), 422)
    has_detail(secured_server.http.get(search), 422)
