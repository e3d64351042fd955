"""The plain key reaches the provider, whichever way a conversation came to its model."""

import uuid

import pytest

from tests.contract.dialogue import Dialogue, finish, think
from tests.support.server import OwnServer

ENCRYPTED = {"X-Expose-Secrets": "encrypted"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """With a session key and the secret key it makes itself."""
    server = OwnServer(tmp_path_factory.mktemp("keys"), OH_SESSION_API_KEYS_0="a-session-key")
    try:
        yield server.start().wait_ready()
    finally:
        server.stop()


@pytest.fixture
def llm(llm_url):
    """Callable: a model with this key."""

    def _llm(key, **more):
        return {
            "model": "openai/fake-model",
            "base_url": f"{llm_url}/v1",
            "api_key": key,
            "usage_id": "agent",
            "num_retries": 0,
            **more,
        }

    return _llm


@pytest.fixture
def begin(server, llm_url, tmp_path):
    """Callable: a conversation of this body, with a first message and its answer."""

    def _begin(*steps, **body):
        return Dialogue.open(server.http, llm_url, body.pop("agent", None), tmp_path, *steps, **body)

    return _begin


@pytest.fixture
def saved(server, llm):
    """Callable: a profile with this key; its name."""

    def _saved(key):
        name = f"profile-{uuid.uuid4().hex[:8]}"
        response = server.http.post(f"/api/profiles/{name}", json={"llm": llm(key)})
        assert response.status_code == 201, response.text
        return name

    return _saved


def keys_seen(conversation, count):
    """The keys that the provider was shown in the ``count`` requests so far."""
    conversation.wait_finished()
    seen = [call["authorization"].removeprefix("Bearer ") for call in conversation.llm_calls()]
    assert len(seen) == count
    return seen


def settings(server, **headers):
    return server.http.get("/api/settings", headers=headers).json()["agent_settings"]


def plain_agent(server, llm, saved):
    return {"agent": {"kind": "Agent", "llm": llm("sk-create"), "tools": []}}


def plain_settings(server, llm, saved):
    return {"agent_settings": {"llm": llm("sk-create")}}


def encrypted_settings(server, llm, saved):
    server.http.patch("/api/settings", json={"agent_settings_diff": {"llm": llm("sk-create")}})
    return {"agent_settings": settings(server, **ENCRYPTED), "secrets_encrypted": True}


def activated_profile(server, llm, saved):
    assert server.http.post(f"/api/profiles/{saved('sk-create')}/activate").status_code == 200
    return {"agent_settings": settings(server, **ENCRYPTED), "secrets_encrypted": True}


def stored_settings(server, llm, saved):
    assert server.http.post(f"/api/profiles/{saved('sk-create')}/activate").status_code == 200
    return {"agent_settings": {}}


def agent_profile(server, llm, saved):
    name = f"agent-{uuid.uuid4().hex[:8]}"
    server.http.post(f"/api/agent-profiles/{name}", json={"llm_profile_ref": saved("sk-create")})
    profile = server.http.get(f"/api/agent-profiles/{name}").json()["profile"]
    return {"agent_profile_id": profile["id"]}


WAYS = [plain_agent, plain_settings, encrypted_settings, activated_profile, stored_settings, agent_profile]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_new_conversation_shows_the_provider_its_plain_key(server, llm, saved, begin, way):
    conversation = begin(finish(), **way(server, llm, saved))

    assert keys_seen(conversation, 1) == ["sk-create"]


def test_a_switch_shows_the_provider_the_new_plain_key(server, llm, saved, begin):
    conversation = begin(finish(), **plain_agent(server, llm, saved))
    keys_seen(conversation, 1)

    conversation.ok("switch_profile", {"profile_name": saved("sk-profile")})
    conversation.tell(finish())
    keys_seen(conversation, 2)
    conversation.ok("switch_llm", {"llm": llm("sk-llm")})
    conversation.tell(finish())
    keys_seen(conversation, 3)
    sealed = server.http.get(f"/api/profiles/{saved('sk-sealed')}", headers=ENCRYPTED).json()["config"]
    assert sealed["api_key"].startswith("gAAAAA")
    conversation.ok("switch_llm", {"llm": sealed})
    conversation.tell(finish())

    assert keys_seen(conversation, 4) == ["sk-create", "sk-profile", "sk-llm", "sk-sealed"]


@pytest.mark.parametrize("stop", ["pause", "interrupt"])
def test_a_resumed_run_shows_the_provider_its_plain_key(server, llm, saved, begin, stop):
    conversation = begin(think("about it", delay=1), finish(), **encrypted_settings(server, llm, saved))
    conversation.wait_llm_call()
    conversation.ok(stop)
    conversation.wait_status("paused")
    conversation.ok("run")

    requests = 2 if stop == "pause" else 3  # what was interrupted is asked again
    assert keys_seen(conversation, requests) == ["sk-create"] * requests


def test_after_a_restart_the_provider_is_shown_the_plain_key_still(server, llm, saved, begin):
    created = begin(finish(), **encrypted_settings(server, llm, saved))
    switched = begin(finish(), **plain_agent(server, llm, saved))
    switched_by_name = begin(finish(), **plain_agent(server, llm, saved))
    for conversation in (created, switched, switched_by_name):
        keys_seen(conversation, 1)
    switched.ok("switch_llm", {"llm": llm("sk-switched")})
    switched_by_name.ok("switch_profile", {"profile_name": saved("sk-named")})

    server.restart("KILL").wait_ready()
    for conversation in (created, switched, switched_by_name):
        conversation.http = server.http
        conversation.tell(finish())
    assert keys_seen(created, 2) == ["sk-create"] * 2
    assert keys_seen(switched, 2) == ["sk-create", "sk-switched"]
    assert keys_seen(switched_by_name, 2) == ["sk-create", "sk-named"]


def test_a_key_that_the_provider_revoked_is_replaced_in_an_old_conversation(server, llm, saved, begin):
    name = saved("sk-revoked")
    refused = {"say": "no such key", "status": 401}
    conversation = begin(refused, **plain_agent(server, lambda key: llm("sk-revoked"), saved))
    conversation.wait_status("error")
    assert server.http.post(f"/api/profiles/{name}", json={"llm": llm("sk-fresh")}).status_code == 201
    conversation.ok("switch_profile", {"profile_name": name})
    conversation.tell(finish())
    conversation.wait_finished()

    assert conversation.llm_calls()[-1]["authorization"] == "Bearer sk-fresh"


@pytest.mark.parametrize("status", [400, 401, 500])
def test_a_key_that_the_provider_quotes_is_not_recorded(llm, begin, status):
    key = "sk-quoted-by-the-provider"
    refused = {"say": f"Incorrect API key provided: {key}", "status": status}
    agent = {"kind": "Agent", "llm": llm(key), "tools": []}
    conversation = begin(refused, agent=agent)
    conversation.wait_status("error")

    (error,) = conversation.of_kind("ConversationErrorEvent")
    assert error["detail"]
    assert key not in error["detail"]


def test_a_key_that_the_provider_quotes_is_not_shown_when_a_profile_is_tried(server, llm, llm_url):
    tried = llm("sk-quoted-by-the-provider", base_url=f"{llm_url}/nowhere/sk-quoted-by-the-provider")
    answer = server.http.post("/api/profiles/tried/validate", json={"llm": tried})

    assert answer.json()["valid"] is False
    assert "sk-quoted" not in answer.text
