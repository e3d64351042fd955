"""What ``/server_info`` says the server can do, it does: each name of the list is tried."""

import uuid

import httpx
import pytest


@pytest.fixture(scope="module")
def http(agent_server):
    with httpx.Client(base_url=agent_server.url, headers=agent_server.headers, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def profile(http):
    """A stored agent profile with a model, as its name."""
    name = f"capable-{uuid.uuid4().hex[:8]}"
    llm = {"model": "openai/fake-model", "api_key": "k", "usage_id": "agent"}
    assert http.post(f"/api/profiles/{name}", json={"llm": llm}).status_code in (200, 201)
    body = {"agent_kind": "openhands", "llm_profile_ref": name}
    assert http.post(f"/api/agent-profiles/{name}", json=body).status_code in (200, 201)
    yield name
    http.delete(f"/api/agent-profiles/{name}")
    http.delete(f"/api/profiles/{name}")


def materialized(http, profile, **fields):
    draft = {"agent_kind": "openhands", "llm_profile_ref": profile, **fields}
    answer = http.post(f"/api/agent-profiles/{profile}/materialize", json={"profile": draft})
    assert answer.status_code == 200
    return answer.json()


def conversation_runtime_routes_v1(http, profile):
    path = f"/api/conversations/{uuid.uuid4()}/bash/bash_events/search"
    assert http.get(path).json()["code"] == "not_found"  # of a conversation: the route is there


def profile_secret_scope_v1(http, profile):
    profile_id = http.get(f"/api/agent-profiles/{profile}").json()["profile"]["id"]
    assert http.get("/api/settings/secrets", params={"agent_profile_id": profile_id}).status_code == 200
    unknown = {"agent_profile_id": str(uuid.uuid4())}
    assert http.get("/api/settings/secrets", params=unknown).status_code == 404


def profile_persona_v1(http, profile):
    preview = materialized(http, profile, persona="You speak in rhymes.")
    assert preview["valid"]
    assert "You speak in rhymes." in str(preview["resolved_settings"])


def idempotent_conversation_create_v1(http, profile):
    body = {
        "conversation_id": str(uuid.uuid4()),
        "agent": {"kind": "Agent", "llm": {"model": "openai/fake-model", "api_key": "k"}, "tools": []},
        "workspace": {"working_dir": "/tmp"},
    }
    answers = [http.post("/api/conversations", json=body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 200]
    assert {answer.json()["id"] for answer in answers} == {body["conversation_id"]}
    http.delete(f"/api/conversations/{body['conversation_id']}")


def tool_catalog_v1(http, profile):
    assert http.get("/api/tools/catalog").json()["tools"]


def agent_profile_draft_materialize_v1(http, profile):
    assert materialized(http, profile)["valid"]
    assert not materialized(http, profile, llm_profile_ref="missing")["valid"]


def agent_launch_pipeline_v1(http, profile):
    profile_id = http.get(f"/api/agent-profiles/{profile}").json()["profile"]["id"]
    body = {"agent_profile_id": profile_id, "workspace": {"working_dir": "/tmp"}}
    answer = http.post("/api/conversations", json=body)
    assert answer.status_code == 201, answer.text
    assert answer.json()["agent"]["llm"]["model"] == "openai/fake-model"
    http.delete(f"/api/conversations/{answer.json()['id']}")


def profile_public_skills_v1(http, profile):
    assert materialized(http, profile, public_skills=[])["valid"]


def skill_catalog_v1(http, profile):
    assert http.get("/api/skills/catalog").status_code == 200


def test_every_capability_that_is_claimed_is_there(http, profile):
    claimed = http.get("/server_info").json()["capabilities"]

    assert len(claimed) == len(set(claimed)) >= 9
    for name in claimed:
        globals()[name](http, profile)
