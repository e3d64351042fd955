"""Trying out MCP servers: secrets stay secret, signing in works with the person's own browser."""

import httpx
import pytest


@pytest.fixture
def signed(signed_server):
    return {"type": "http", "url": signed_server, "auth": {"strategy": "oauth2"}}


def post(http, path, **body):
    return http.post(f"/api/mcp/{path}", json=body)


def test_signing_in_hands_out_tokens_that_work_afterwards(http, signed):
    call = {"name": "add", "arguments": {"a": 2, "b": 3}}
    started = post(http, "oauth/start", server=signed, tool_call=call).json()
    assert started["ok"] is True
    waiting = http.get(f"/api/mcp/oauth/status/{started['job_id']}").json()
    assert (waiting["status"], waiting["callback_ready"]) == ("authorizing", True)
    sent_to = httpx.get(started["authorization_url"]).headers["location"]
    done = post(http, f"oauth/callback/{started['job_id']}", callback_url=sent_to).json()

    assert (done["ok"], done["status"], done["tools"]) == (True, "succeeded", ["add"])
    assert done["tool_result"] == {"is_error": False, "text": "5"}
    again = {**signed, "auth": {"strategy": "oauth2", "state": done["oauth_state"]}}
    tested = post(http, "test", server=again).json()
    assert (tested["ok"], tested["tools"]) == (True, ["add"])


def test_tokens_that_are_gone_fail_a_test_without_anybody_being_asked(http, signed):
    answer = post(http, "test", server=signed, timeout=10).json()

    assert answer["ok"] is False
    assert "authorized" in answer["error"]


def test_a_refused_sign_in_does_not_come_to_its_end(http, signed):
    job = post(http, "oauth/start", server=signed).json()["job_id"]
    response = post(
        http, f"oauth/callback/{job}", callback_url="http://localhost/callback?error=access_denied"
    )

    assert response.status_code == 422
    assert http.get(f"/api/mcp/oauth/status/{job}").json()["status"] == "authorizing"


def test_a_server_that_wants_a_sign_in_fails_a_plain_test_in_time(http, signed_server):
    answer = post(http, "test", server={"type": "http", "url": signed_server}, timeout=10).json()

    assert (answer["ok"], answer["error_kind"]) == (False, "connection")


@pytest.mark.parametrize(
    "server",
    [
        {"command": "no-such-command", "env": {"TOKEN": "sk-canary"}},
        {"command": "sh", "args": ["-c", "echo $TOKEN >&2; exit 1"], "env": {"TOKEN": "sk-canary"}},
        {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer sk-canary"}},
        {"type": "sse", "url": "http://127.0.0.1:9/", "auth": {"strategy": "bearer", "value": "sk-canary"}},
    ],
)
def test_a_failure_does_not_tell_the_secrets_of_the_server(http, server):
    response = post(http, "test", server=server, timeout=8)

    assert response.json()["ok"] is False
    assert "sk-canary" not in response.text
