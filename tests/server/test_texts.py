"""Texts that an engine or the file system cannot take are the client's mistake, not the server's failure."""

import httpx
import pytest
from django.db import DataError

from agentserver.errors import answer

NUL, HALF_PAIR = r"\u0000", r"\ud800"
WRITES = [
    ("PATCH", "/api/settings", '{"active_profile": "@"}'),
    ("PATCH", "/api/settings", '{"agent_settings_diff": {"mcp_config": {"a": {"command": "x@"}}}}'),
    ("PUT", "/api/settings/secrets", '{"name": "A", "value": "x", "description": "@"}'),
    ("POST", "/api/profiles/texts", '{"llm": {"model": "x", "provider_connection_id": "@"}}'),
    ("POST", "/api/agent-profiles/texts", '{"llm_profile_ref": "@"}'),
    ("POST", "/api/agent-profiles/texts/materialize", '{"profile": {"llm_profile_ref": "@"}}'),
    ("POST", "/api/llm/provider-connections", '{"display_name": "@", "api_key": "x"}'),
    ("POST", "/api/plugins/fetch", '{"source": "/x@"}'),
    ("POST", "/api/skills", '{"project_dir": "/x@", "load_public": false}'),
]


@pytest.fixture(scope="module")
def http(agent_server):
    with httpx.Client(base_url=agent_server.url, headers=agent_server.headers, timeout=60) as client:
        yield client
        for path in ("profiles/texts", "agent-profiles/texts", "settings/secrets/A", "settings/mcp/a"):
            client.delete(f"/api/{path}")
        for connection in client.get("/api/llm/provider-connections").json():
            client.delete(f"/api/llm/provider-connections/{connection['id']}")


@pytest.mark.parametrize("text", [NUL, HALF_PAIR])
@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_a_text_that_cannot_be_stored_is_no_failure_of_the_server(http, method, path, body, text):
    headers = {"Content-Type": "application/json"}
    response = http.request(method, path, content=body.replace("@", text), headers=headers)

    assert response.status_code < 500, response.text


@pytest.fixture(scope="module")
def conversation(http, tmp_path_factory):
    agent = {"llm": {"model": "openai/fake-model", "api_key": "x"}, "tools": []}
    body = {"agent": agent, "workspace": {"working_dir": str(tmp_path_factory.mktemp("workspace"))}}
    path = f"/api/conversations/{http.post('/api/conversations', json=body).json()['id']}"
    yield path
    http.delete(path)


@pytest.mark.parametrize("name", ["kind", "source", "body", "page_id"])
def test_a_search_for_a_text_that_no_event_can_hold_finds_nothing(http, conversation, name):
    for what in ("search", "count"):
        response = http.get(f"{conversation}/events/{what}?{name}=abc%00def")
        assert response.status_code in (200, 422), response.text
    assert http.get(f"{conversation}/events/count?body=abc%00def").text == "0"


def test_what_postgresql_refuses_is_told_without_the_text():
    response = answer(DataError("cannot store canary"), {})

    assert (response.status_code, response.data["code"]) == (422, "invalid")
    assert "canary" not in str(response.data)
