"""The editor: found on PATH, started once, ended with its children; and hosted repositories."""

import httpx
import pytest

from agentserver import conf
from agentserver.workspace import editor, hosting


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Callable: put an editor on PATH that writes down how it was started, and stays."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("OH_SECRET_KEY", "not-for-editors")

    def _program(name):
        path = tmp_path / name
        path.write_text(
            f'#!/bin/sh\nenv > {tmp_path}/env\necho "$@" > {tmp_path}/arguments\nexec sleep 600\n'
        )
        path.chmod(0o755)
        return tmp_path

    return _program


@pytest.fixture
def one():
    made = editor.Editor()
    yield made
    made.stop()


def test_without_a_program_there_is_no_address(one, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert (one.program(), one.start(), one.running()) == (None, False, False)


def test_the_editor_starts_once_and_ends(program, one, wait_until):
    directory = program("openvscode-server")

    assert one.start()
    wait_until(lambda: (directory / "arguments").exists() and (directory / "arguments").read_text(), 10)
    process = one._process
    assert one.start()
    assert one._process is process
    assert one.token in (directory / "arguments").read_text()
    assert "not-for-editors" not in (directory / "env").read_text()
    one.stop()
    assert process.poll() is not None


def test_the_address_opens_the_directory_with_the_token(program, one):
    program("openvscode-server")

    assert one.url("https://editor.example/", "/srv/my work") == (
        f"https://editor.example/?tkn={one.token}&folder=/srv/my%20work"
    )
    assert one.url(None, "/w").startswith("http://localhost:8001/?tkn=")


def test_code_server_without_a_session_key_stays_on_this_machine(program, one, wait_until, monkeypatch):
    directory = program("code-server")
    monkeypatch.setattr(conf.current(), "session_api_keys", [])

    one.start()

    wait_until(lambda: (directory / "arguments").exists() and (directory / "arguments").read_text(), 10)
    assert "127.0.0.1:8001 --auth none" in (directory / "arguments").read_text()


@pytest.fixture
def hosts(monkeypatch):
    """Callable: what hosting services answer from now on; returns the requests they got."""

    def _hosts(status, body):
        seen = []

        def get(url, *, headers, params, timeout):
            seen.append((url, headers, params))
            return httpx.Response(status, json=body, request=httpx.Request("GET", url))

        monkeypatch.setattr(hosting.httpx, "get", get)
        monkeypatch.setattr(hosting, "_token", lambda owner, provider: "stored-token")
        return seen

    return _hosts


def search(provider="github", text="", limit=1, page=1):
    return hosting.search(owner=None, provider=provider, query=hosting.Query(text, limit, page))


GITHUB = {"id": 7, "full_name": "a/b", "private": True, "default_branch": "main", "stargazers_count": 0}


def test_repositories_at_github_come_in_pages(hosts):
    seen = hosts(200, [GITHUB])

    page = search(page=2)

    assert page["next_page_id"] == "3"
    assert page["items"][0] | {"pushed_at": None} == {
        "id": "7", "full_name": "a/b", "git_provider": "github", "is_public": False, "stargazers_count": 0,
        "pushed_at": None, "main_branch": "main",
    }  # fmt: skip
    assert seen[0][1]["Authorization"] == "Bearer stored-token"


def test_a_full_text_search_asks_for_the_users_own(hosts):
    seen = hosts(200, {"items": []})

    assert search(text="tool")["next_page_id"] is None
    assert "user:@me" in seen[0][2]["q"]


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [(401, {}, hosting.Refused), (500, {}, hosting.Unreachable), (200, {"odd": 1}, hosting.Unreachable)],
)
def test_a_service_that_refuses_or_fails_is_told_apart(hosts, status, body, problem):
    hosts(status, body)

    with pytest.raises(problem):
        search(provider="gitlab")


def test_a_provider_that_cannot_be_searched_is_said_to_be_so(hosts):
    hosts(200, [])

    with pytest.raises(hosting.NotOffered):
        search(provider="azure_devops")
