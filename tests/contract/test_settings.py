"""What the server keeps for its user: settings, secrets, profiles, connections, workspaces.

The tests restore what they change, but the server under test should not be one in use.
"""

import copy

import httpx
import pytest

from tests.contract.conftest import plan
from tests.contract.kit import (
    ENCRYPTED,
    PLAINTEXT,
    REDACTED,
    Profiles,
    Settings,
    has_detail,
    profiles_at,
    restored_settings,
    unique,
)


@pytest.fixture
def settings(http):
    yield from restored_settings(http)


@pytest.fixture
def secured(secured_server):
    yield from restored_settings(secured_server.http)


# --- settings --------------------------------------------------------------------------------


def test_settings_have_an_agent_part_a_conversation_part_and_pointers(settings):
    got = settings.get()
    assert {
        "agent_settings",
        "conversation_settings",
        "llm_api_key_is_set",
        "active_profile",
        "active_agent_profile_id",
        "active_meta_profile",
        "misc_settings",
    } <= set(got)
    assert got["agent_settings"]["agent_kind"] == "openhands"
    assert isinstance(got["agent_settings"]["llm"]["model"], str)
    assert isinstance(got["agent_settings"]["mcp_config"], dict)
    assert got["conversation_settings"]["max_iterations"] > 0
    assert isinstance(got["conversation_settings"]["confirmation_mode"], bool)


def test_a_patch_changes_what_it_names_and_keeps_the_rest(settings):
    settings.patch(
        agent_settings_diff={"llm": {"model": "openai/one", "temperature": 0.25}},
        conversation_settings_diff={"max_iterations": 41},
    )
    before = settings.get()
    answer = settings.patch(agent_settings_diff={"llm": {"model": "openai/two"}})
    after = settings.get()
    assert answer["agent_settings"]["llm"] == after["agent_settings"]["llm"]
    assert after["agent_settings"]["llm"] == {**before["agent_settings"]["llm"], "model": "openai/two"}
    assert after["conversation_settings"] == before["conversation_settings"]
    assert after["conversation_settings"]["max_iterations"] == 41


def test_a_null_in_the_agent_settings_resets_the_value(settings):
    settings.patch(agent_settings_diff={"llm": {"temperature": 0.25}})
    settings.patch(agent_settings_diff={"llm": {"temperature": None}})
    assert settings.llm()["temperature"] is None


def test_an_api_key_is_never_shown_unless_asked_for(settings):
    settings.patch(agent_settings_diff={"llm": {"api_key": None}})
    assert settings.get()["llm_api_key_is_set"] is False and settings.llm()["api_key"] is None
    answer = settings.patch(agent_settings_diff={"llm": {"api_key": "sk-top-secret"}})
    assert answer["agent_settings"]["llm"]["api_key"] == REDACTED
    assert answer["llm_api_key_is_set"] is True
    assert settings.llm()["api_key"] == REDACTED and settings.get()["llm_api_key_is_set"] is True
    assert "sk-top-secret" not in settings.http.get("/api/settings").text
    assert settings.llm(PLAINTEXT)["api_key"] == "sk-top-secret"
    assert settings.llm({"X-Expose-Secrets": "PlainText"})["api_key"] == "sk-top-secret"


@pytest.mark.beyond
def test_sending_the_redacted_key_back_keeps_the_real_one(settings):
    """What a form does that shows GET's answer and saves it; the reference wipes the key."""
    settings.patch(agent_settings_diff={"llm": {"api_key": "sk-top-secret"}})
    shown = settings.llm()
    settings.patch(agent_settings_diff={"llm": {**shown, "model": "openai/renamed"}})
    assert settings.llm(PLAINTEXT)["api_key"] == "sk-top-secret"
    assert settings.llm()["model"] == "openai/renamed"


def test_an_unknown_way_to_expose_secrets_is_refused(settings):
    has_detail(settings.http.get("/api/settings", headers={"X-Expose-Secrets": "please"}), 400)


@pytest.mark.parametrize(
    "body",
    [
        {"conversation_settings_diff": {"max_iterations": "many"}},
        {"conversation_settings_diff": {"max_iterations": 0}},
        {"conversation_settings_diff": {"confirmation_mode": None}},
        {"agent_settings_diff": {"llm": {"temperature": "hot"}}},
        {"agent_settings_diff": {"llm": "gpt"}},
        {"agent_settings_diff": {"agent_kind": "robot"}},
        {"agent_settings_diff": ["llm"]},
        {"active_profile": "not/a/name"},
        {"active_agent_profile_id": "not-a-uuid"},
    ],
)
def test_an_invalid_patch_is_refused(settings, body):
    before = settings.get()["conversation_settings"]
    has_detail(settings.try_patch(**body), 422)
    assert settings.get()["conversation_settings"] == before


def test_a_patch_is_applied_whole_or_not_at_all(settings):
    settings.patch(agent_settings_diff={"llm": {"model": "openai/before"}})
    has_detail(
        settings.try_patch(
            agent_settings_diff={"llm": {"model": "openai/after"}},
            conversation_settings_diff={"max_iterations": "many"},
        ),
        422,
    )
    assert settings.llm()["model"] == "openai/before"


@pytest.mark.parametrize("body", [{}, {"nonsense": 1}])
def test_a_patch_of_nothing_is_refused(settings, body):
    has_detail(settings.try_patch(**body), 400)


def test_a_refused_patch_does_not_repeat_the_secret_in_it(settings):
    response = settings.try_patch(
        agent_settings_diff={"llm": {"api_key": "sk-top-secret", "temperature": "hot"}}
    )
    assert response.status_code == 422 and "sk-top-secret" not in response.text


def test_misc_settings_are_kept_and_merged_without_being_understood(settings):
    key = unique("ui")
    settings.patch(misc_settings_diff={key: {"theme": "dark", "panes": [1, 2], "deep": {"x": 1}}})
    settings.patch(misc_settings_diff={key: {"panes": [3], "deep": {"y": "ü"}}})
    assert settings.get()["misc_settings"][key] == {"theme": "dark", "panes": [3], "deep": {"x": 1, "y": "ü"}}
    settings.patch(misc_settings_diff={key: {"theme": None, "panes": None, "deep": None}})
    assert settings.get()["misc_settings"][key] == {}


@pytest.mark.parametrize(
    "schema, fields",
    [
        ("agent-schema", {"llm.model", "llm.api_key"}),
        ("conversation-schema", {"max_iterations", "confirmation_mode"}),
    ],
)
def test_a_schema_describes_the_settings_form(http, schema, fields):
    response = http.get(f"/api/settings/{schema}")
    assert response.status_code == 200
    assert set(response.json()) == {"model_name", "sections"}
    described = {}
    for section in response.json()["sections"]:
        assert {"key", "label", "fields"} <= set(section) and section["fields"]
        for field in section["fields"]:
            assert {
                "key",
                "label",
                "section",
                "value_type",
                "default",
                "prominence",
                "depends_on",
                "secret",
                "choices",
            } <= set(field)
            described[field["key"]] = field
    assert fields <= set(described)
    for key, field in described.items():
        if key.rpartition(".")[2] in ("api_key", "aws_secret_access_key"):
            assert field["secret"] is True, key


def test_encrypted_secrets_can_be_sent_back(secured):
    """``X-Expose-Secrets: encrypted`` is how a browser round-trips them."""
    secured.patch(agent_settings_diff={"llm": {"api_key": "sk-top-secret"}})
    sealed = secured.llm(ENCRYPTED)["api_key"]
    assert sealed not in ("sk-top-secret", REDACTED, None) and "sk-top-secret" not in sealed
    assert secured.llm({"X-Expose-Secrets": "true"})["api_key"] not in ("sk-top-secret", None)
    secured.patch(agent_settings_diff={"llm": {"api_key": sealed}})
    assert secured.llm(PLAINTEXT)["api_key"] == "sk-top-secret"


def test_secrets_are_not_on_disk_in_plain_text(secured, secured_server):
    secured.patch(agent_settings_diff={"llm": {"api_key": "sk-on-disk-1"}})
    http, name = secured_server.http, unique("disk")
    http.put("/api/settings/secrets", json={"name": "ON_DISK", "value": "sk-on-disk-2"})
    http.post(
        f"/api/profiles/{name}",
        json={"llm": {"model": "openai/x", "usage_id": "x", "api_key": "sk-on-disk-3"}},
    )
    files = [path for path in secured_server.root.rglob("*") if path.is_file()]
    assert files, "something has been stored"
    for path in files:
        assert b"sk-on-disk-" not in path.read_bytes(), path
    assert http.get("/api/settings/secrets/ON_DISK").text == "sk-on-disk-2"
    assert http.get(f"/api/profiles/{name}", headers=PLAINTEXT).json()["config"]["api_key"] == "sk-on-disk-3"


@pytest.mark.slow
def test_without_a_secret_key_nothing_can_be_shown_encrypted(own_server):
    settings = Settings(own_server().http)
    assert settings.llm(ENCRYPTED)["api_key"] is None, "nothing to encrypt, nothing wrong"
    settings.patch(agent_settings_diff={"llm": {"api_key": "sk-top-secret"}})
    response = settings.http.get("/api/settings", headers=ENCRYPTED)
    has_detail(response, 503)
    assert "sk-top-secret" not in response.text


@pytest.mark.parametrize(
    "path",
    [
        "/api/settings/secrets",
        "/api/settings/secrets/X",
        "/api/profiles",
        "/api/workspaces",
        "/api/agent-profiles",
        "/api/meta-profiles",
        "/api/llm/provider-connections",
    ],
)
def test_what_the_server_keeps_for_its_user_needs_the_session_key(secured_server, path):
    with httpx.Client(base_url=secured_server.url) as stranger:
        has_detail(stranger.get(path), 401)
    assert secured_server.http.get(path).status_code in (200, 404)


# --- MCP servers in the settings -------------------------------------------------------------


@pytest.fixture
def mcp_key(http):
    key = unique("server")
    yield key
    http.delete(f"/api/settings/mcp/{key}")


def test_an_mcp_server_can_be_added_changed_and_removed_by_name(settings, http, mcp_key):
    url = f"/api/settings/mcp/{mcp_key}"
    server = {"command": "python", "args": ["x.py"], "env": {"TOKEN": "mcp-secret", "PLAIN": "1"}}
    response = http.post(url, json=server)
    assert response.status_code == 201 and "mcp-secret" not in response.text
    stored = response.json()["agent_settings"]["mcp_config"][mcp_key]
    assert (stored["command"], stored["args"], stored["enabled"]) == ("python", ["x.py"], True)
    assert stored["env"] == {"TOKEN": REDACTED, "PLAIN": REDACTED}
    has_detail(http.post(url, json=server), 409)
    response = http.patch(url, json={"enabled": False, "env": {"PLAIN": None, "MORE": "2"}})
    assert response.status_code == 200
    stored = settings.get(PLAINTEXT)["agent_settings"]["mcp_config"][mcp_key]
    assert stored["env"] == {"TOKEN": "mcp-secret", "MORE": "2"}
    assert (stored["enabled"], stored["args"]) == (False, ["x.py"])
    assert http.delete(url).status_code == 200
    assert mcp_key not in settings.get()["agent_settings"]["mcp_config"]
    has_detail(http.delete(url), 404)
    has_detail(http.patch(url, json={"enabled": True}), 404)


def test_an_mcp_server_can_be_removed_by_a_patch_of_the_settings(settings, mcp_key):
    settings.patch(agent_settings_diff={"mcp_config": {mcp_key: {"url": "http://127.0.0.1:9/m"}}})
    assert settings.get()["agent_settings"]["mcp_config"][mcp_key]["url"] == "http://127.0.0.1:9/m"
    settings.patch(agent_settings_diff={"mcp_config": {mcp_key: None}})
    assert mcp_key not in settings.get()["agent_settings"]["mcp_config"]


def test_a_malformed_mcp_server_is_refused(http, mcp_key):
    url = f"/api/settings/mcp/{mcp_key}"
    has_detail(http.post(url, json={"command": "x", "args": "not a list"}), 422)
    assert http.post(url, json={"command": "x"}).status_code == 201
    has_detail(http.patch(url, json={"unknown": 1}), 422)


@pytest.mark.beyond
def test_an_mcp_server_that_is_neither_command_nor_url_is_refused(http, mcp_key):
    """The reference stores it, and every later conversation fails to start it."""
    has_detail(http.post(f"/api/settings/mcp/{mcp_key}", json={}), 422)


# --- secrets ---------------------------------------------------------------------------------


@pytest.fixture
def secret_name(http):
    name = unique("SECRET").replace("-", "_").upper()
    yield name
    http.delete(f"/api/settings/secrets/{name}")


def put_secret(http, **body):
    return http.put("/api/settings/secrets", json=body)


def listed_secrets(http):
    response = http.get("/api/settings/secrets")
    assert response.status_code == 200
    assert set(response.json()) == {"secrets"}
    return {secret["name"]: secret for secret in response.json()["secrets"]}


def test_a_secret_is_listed_by_name_and_read_by_name_only(http, secret_name):
    response = put_secret(http, name=secret_name, value="hunter2", description="for tests")
    assert response.status_code == 200
    assert response.json() == {"name": secret_name, "description": "for tests"}
    assert listed_secrets(http)[secret_name] == {"name": secret_name, "description": "for tests"}
    assert "hunter2" not in http.get("/api/settings/secrets").text
    response = http.get(f"/api/settings/secrets/{secret_name}")
    assert (response.status_code, response.text) == (200, "hunter2")
    assert response.headers["content-type"].startswith("text/plain")


def test_a_secret_put_again_is_replaced(http, secret_name):
    put_secret(http, name=secret_name, value="first", description="first")
    put_secret(http, name=secret_name, value="second")
    assert http.get(f"/api/settings/secrets/{secret_name}").text == "second"
    assert listed_secrets(http)[secret_name]["description"] is None
    assert list(listed_secrets(http)).count(secret_name) == 1


def test_a_deleted_secret_is_gone(http, secret_name):
    put_secret(http, name=secret_name, value="x")
    response = http.delete(f"/api/settings/secrets/{secret_name}")
    assert (response.status_code, response.json()) == (200, {"deleted": True})
    assert secret_name not in listed_secrets(http)
    has_detail(http.get(f"/api/settings/secrets/{secret_name}"), 404)
    has_detail(http.delete(f"/api/settings/secrets/{secret_name}"), 404)


@pytest.mark.parametrize(
    "value", ["with spaces ", "line\nbreaks\r\n", "grüße 🎉", '{"json": 1}', "<html>&amp;", "x" * 20000]
)
def test_the_value_of_a_secret_is_kept_exactly(http, secret_name, value):
    put_secret(http, name=secret_name, value=value)
    assert http.get(f"/api/settings/secrets/{secret_name}").content.decode() == value


@pytest.mark.parametrize("name", ["1st", "has-dash", "has space", "has.dot", "", "_x", "ü", "a" * 65])
def test_a_bad_secret_name_is_refused(http, name):
    has_detail(put_secret(http, name=name, value="x"), 422)
    if name and "/" not in name:
        has_detail(http.get(f"/api/settings/secrets/{name}"), 422)
        has_detail(http.delete(f"/api/settings/secrets/{name}"), 422)


@pytest.mark.parametrize("value", ["", "   ", REDACTED])
def test_an_empty_or_redacted_value_never_replaces_a_secret(http, secret_name, value):
    put_secret(http, name=secret_name, value="real")
    has_detail(put_secret(http, name=secret_name, value=value), 422)
    assert http.get(f"/api/settings/secrets/{secret_name}").text == "real"


@pytest.mark.parametrize("body", [{"name": "X"}, {"value": "x"}, {"name": 5, "value": "x"}, {}])
def test_an_incomplete_secret_is_refused(http, body):
    has_detail(put_secret(http, **body), 422)


@pytest.mark.beyond
def test_a_refused_secret_is_not_repeated_in_the_answer(http):
    """The reference echoes the body of an incomplete request, value included."""
    assert "hunter2" not in put_secret(http, value="hunter2").text


# --- profiles of language models -------------------------------------------------------------


@pytest.fixture
def agent_profiles(settings, http, profiles):
    yield from profiles_at(http, "/api/agent-profiles")


@pytest.fixture
def profiles(settings, http):
    yield from profiles_at(http, "/api/profiles")


@pytest.fixture
def llm(llm_config):
    return copy.deepcopy(llm_config)


def test_a_profile_is_saved_listed_and_read_without_its_key(profiles, llm):
    name = profiles.save({"llm": llm})
    listed = profiles.listed()[name]
    assert (listed["model"], listed["base_url"]) == (llm["model"], llm["base_url"])
    assert listed["api_key_set"] is True
    got = profiles.get(name).json()
    assert set(got) == {"name", "config", "api_key_set"}
    assert (got["name"], got["api_key_set"]) == (name, True)
    assert got["config"]["model"] == llm["model"] and got["config"]["api_key"] is None
    assert llm["api_key"] not in profiles.get(name).text + str(profiles.list())
    assert profiles.get(name, PLAINTEXT).json()["config"]["api_key"] == llm["api_key"]


def test_saving_answers_with_name_and_message(profiles, llm):
    name = unique("profile")
    profiles.saved.append(name)
    response = profiles.try_save(name, {"llm": llm})
    assert response.status_code == 201
    assert set(response.json()) == {"name", "message"} and response.json()["name"] == name


def test_a_profile_can_be_saved_without_its_key(profiles, llm):
    name = profiles.save({"llm": llm, "include_secrets": False})
    assert profiles.listed()[name]["api_key_set"] is False
    assert profiles.get(name, PLAINTEXT).json()["config"]["api_key"] is None


def test_saving_again_replaces_the_profile(profiles, llm):
    name = profiles.save({"llm": {**llm, "temperature": 0.5}})
    profiles.save({"llm": {**llm, "model": "openai/other"}}, name)
    config = profiles.get(name).json()["config"]
    assert (config["model"], config["temperature"]) == ("openai/other", None)
    assert [p["name"] for p in profiles.list()["profiles"]].count(name) == 1


@pytest.mark.parametrize("name", ["-starts-badly", ".hidden", "has space", "ü", "a" * 65, "a%2Fb"])
def test_a_bad_profile_name_is_refused(profiles, llm, name):
    assert profiles.try_save(name, {"llm": llm}).status_code in (404, 422)
    assert profiles.get(name).status_code in (404, 422)


@pytest.mark.parametrize(
    "body", [{}, {"llm": None}, {"llm": "gpt"}, {"llm": {"model": "x", "temperature": "hot"}}]
)
def test_a_malformed_profile_is_refused(profiles, body):
    name = unique("profile")
    has_detail(profiles.try_save(name, body), 422)
    has_detail(profiles.get(name), 404)


@pytest.mark.beyond
@pytest.mark.parametrize("model", [5, ["x"], {"a": 1}])
def test_a_model_that_is_no_text_is_refused(profiles, model):
    """The reference answers 500."""
    has_detail(profiles.try_save(unique("profile"), {"llm": {"model": model}}), 422)


def test_a_refused_profile_does_not_repeat_its_key(profiles, llm):
    response = profiles.try_save(unique("profile"), {"llm": {**llm, "temperature": "hot"}})
    assert response.status_code == 422 and llm["api_key"] not in response.text


def test_a_profile_can_be_renamed(profiles, llm):
    name, new_name = profiles.save({"llm": llm}), unique("renamed")
    response = profiles.rename(name, new_name)
    assert response.status_code == 200 and response.json()["name"] == new_name
    has_detail(profiles.get(name), 404)
    assert profiles.get(new_name, PLAINTEXT).json()["config"]["api_key"] == llm["api_key"]
    assert profiles.rename(new_name, new_name).status_code == 200, "its own name is fine"
    assert new_name in profiles.listed()


def test_a_profile_does_not_take_the_name_of_another(profiles, llm):
    one, two = profiles.save({"llm": llm}), profiles.save({"llm": {**llm, "model": "openai/two"}})
    has_detail(profiles.rename(one, two), 409)
    assert profiles.get(two).json()["config"]["model"] == "openai/two"
    assert profiles.get(one).status_code == 200
    has_detail(profiles.rename(unique("missing"), unique("new")), 404)
    has_detail(profiles.rename(one, "a/b"), 422)
    has_detail(profiles.post(one, "rename", {}), 422)


def test_deleting_a_profile_may_be_repeated(profiles, llm):
    name = profiles.save({"llm": llm})
    for _ in range(2):
        response = profiles.delete(name)
        assert response.status_code == 200 and response.json()["name"] == name
    assert name not in profiles.listed()
    has_detail(profiles.get(name), 404)


def test_a_missing_profile_is_not_found(profiles):
    name = unique("missing")
    has_detail(profiles.get(name), 404)
    has_detail(profiles.post(name, "activate"), 404)


def test_activating_a_profile_makes_it_the_model_of_the_settings(profiles, settings, llm):
    name = profiles.save({"llm": {**llm, "model": "openai/activated"}})
    response = profiles.post(name, "activate")
    assert response.status_code == 200
    assert (response.json()["name"], response.json()["llm_applied"]) == (name, True)
    assert profiles.list()["active_profile"] == settings.get()["active_profile"] == name
    assert settings.llm(PLAINTEXT)["model"] == "openai/activated"
    assert settings.llm(PLAINTEXT)["api_key"] == llm["api_key"]


def test_the_active_pointer_follows_a_rename_and_ends_with_a_delete(profiles, llm):
    name, new_name = profiles.save({"llm": llm}), unique("renamed")
    profiles.post(name, "activate")
    profiles.rename(name, new_name)
    assert profiles.list()["active_profile"] == new_name
    profiles.delete(new_name)
    assert profiles.list()["active_profile"] is None


def test_a_patch_of_the_settings_can_activate_a_profile(profiles, settings, llm):
    name = profiles.save({"llm": {**llm, "model": "openai/by-patch"}})
    settings.patch(active_profile=name)
    assert settings.llm()["model"] == "openai/by-patch"
    has_detail(settings.try_patch(active_profile=unique("missing")), 404)
    settings.patch(active_profile=None)
    assert settings.get()["active_profile"] is None
    assert settings.llm()["model"] == "openai/by-patch"


def test_a_profile_can_be_tried_out_before_it_is_saved(profiles, llm):
    name = unique("draft")
    response = profiles.post(name, "validate", {"llm": llm})
    assert (response.status_code, response.json()) == (200, {"valid": True, "error": None})
    has_detail(profiles.get(name), 404)
    nobody = {**llm, "base_url": "http://127.0.0.1:9/v1"}
    response = profiles.post(name, "validate", {"llm": nobody})
    assert response.status_code == 200 and response.json()["valid"] is False
    assert set(response.json()["error"]) == {"type", "message"}
    assert llm["api_key"] not in response.text
    has_detail(profiles.post(name, "validate", {}), 422)


def test_the_number_of_profiles_is_limited_to_fifty(profiles, llm):
    for _ in range(51 - len(profiles.listed())):
        name = unique("limit")
        profiles.saved.append(name)
        response = profiles.try_save(name, {"llm": llm})
        if response.status_code != 201:
            break
    has_detail(response, 409)
    assert len(profiles.listed()) == 50
    assert profiles.try_save(profiles.saved[0], {"llm": llm}).status_code == 201, "overwriting"


def test_a_conversation_can_switch_to_a_profile(profiles, start, llm):
    name = profiles.save({"llm": {**llm, "model": "openai/switched"}})
    conversation = start()
    response = conversation.action("switch_profile", {"profile_name": name})
    assert (response.status_code, response.json()) == (200, {"success": True})
    assert conversation.get()["agent"]["llm"]["model"] == "openai/switched"
    conversation.send(plan({"tool": "finish", "args": {"message": "done"}}))
    conversation.wait_status("finished", timeout=60)
    has_detail(conversation.action("switch_profile", {"profile_name": unique("missing")}), 404)
    has_detail(conversation.action("switch_profile", {}), 422)
    assert conversation.get()["agent"]["llm"]["model"] == "openai/switched"


def test_an_encrypted_key_can_be_saved_in_a_profile(secured_server, llm):
    profiles = Profiles(secured_server.http, "/api/profiles")
    name = profiles.save({"llm": llm})
    sealed = profiles.get(name, ENCRYPTED).json()["config"]
    assert llm["api_key"] not in sealed["api_key"]
    copied = profiles.save({"llm": sealed})
    assert profiles.get(copied, PLAINTEXT).json()["config"]["api_key"] == llm["api_key"]
    profiles.clean()


# --- shared provider connections -------------------------------------------------------------


@pytest.fixture
def connections(http, profiles):
    """Depends on the profiles, so that these are deleted first."""

    class Connections:
        url, made = "/api/llm/provider-connections", []

        def create(self, **body):
            body = {"display_name": "Shared", "provider": "openai", "api_key": "sk-shared", **body}
            response = http.post(self.url, json=body)
            if response.status_code == 201:
                self.made.append(response.json()["id"])
            return response

        def by_id(self):
            return {connection["id"]: connection for connection in http.get(self.url).json()}

    connections = Connections()
    yield connections
    profiles.clean()
    for connection_id in connections.made:
        http.delete(f"{connections.url}/{connection_id}")


def test_profiles_can_share_the_key_of_a_connection(connections, profiles, http, llm):
    created = connections.create(base_url=llm["base_url"])
    assert created.status_code == 201 and "sk-shared" not in created.text
    connection = created.json()
    assert connection["api_key_set"] is True and connection["display_name"] == "Shared"
    assert connections.by_id()[connection["id"]] == connection
    name = profiles.save(
        {"llm": {"model": llm["model"], "usage_id": "x", "provider_connection_id": connection["id"]}}
    )
    assert profiles.listed()[name]["provider_connection_id"] == connection["id"]
    assert profiles.get(name).json()["api_key_set"] is True
    resolved = profiles.get(name, PLAINTEXT).json()["config"]
    assert (resolved["api_key"], resolved["base_url"]) == ("sk-shared", llm["base_url"])
    url = f"{connections.url}/{connection['id']}"
    assert http.patch(url, json={"api_key": "sk-rotated"}).status_code == 200
    assert profiles.get(name, PLAINTEXT).json()["config"]["api_key"] == "sk-rotated"
    has_detail(http.delete(url), 409)
    profiles.delete(name)
    assert http.delete(url).status_code == 200
    has_detail(http.delete(url), 404)
    has_detail(http.patch(url, json={"display_name": "x"}), 404)


def test_a_profile_with_a_missing_connection_is_reported_as_broken(profiles):
    name = profiles.save({"llm": {"model": "openai/x", "usage_id": "x", "provider_connection_id": "missing"}})
    assert profiles.listed()[name]["provider_connection_broken"] is True
    has_detail(profiles.post(name, "activate"), 422)


@pytest.mark.parametrize(
    "body", [{"api_key": " "}, {"api_key": REDACTED}, {"display_name": ""}, {"unknown": 1}, {"api_key": None}]
)
def test_a_bad_connection_is_refused(connections, body):
    has_detail(connections.create(**body), 422)


@pytest.mark.parametrize("body", [{}, {"display_name": None}, {"api_key": " "}, {"unknown": 1}])
def test_a_bad_change_of_a_connection_is_refused(connections, http, body):
    connection = connections.create().json()
    has_detail(http.patch(f"{connections.url}/{connection['id']}", json=body), 422)
    assert connections.by_id()[connection["id"]] == connection


# --- agent profiles --------------------------------------------------------------------------


def test_some_agent_profile_is_always_active(agent_profiles):
    got = agent_profiles.list()
    assert set(got) == {"profiles", "active_agent_profile_id"}
    assert got["active_agent_profile_id"] in {profile["id"] for profile in got["profiles"]}


def test_an_agent_profile_is_saved_listed_and_read(agent_profiles):
    name = agent_profiles.save(
        {
            "agent_kind": "openhands",
            "llm_profile_ref": "some-llm",
            "id": "11111111-1111-1111-1111-111111111111",
            "name": "other",
        }
    )
    profile = agent_profiles.get(name).json()["profile"]
    assert (profile["name"], profile["llm_profile_ref"], profile["revision"]) == (name, "some-llm", 0)
    assert profile["id"] != "11111111-1111-1111-1111-111111111111", "ids are the server's"
    listed = agent_profiles.listed()[name]
    assert (listed["id"], listed["agent_kind"]) == (profile["id"], "openhands")
    agent_profiles.save({"agent_kind": "openhands", "llm_profile_ref": "another"}, name)
    again = agent_profiles.get(name).json()["profile"]
    assert (again["id"], again["revision"], again["llm_profile_ref"]) == (profile["id"], 1, "another")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"agent_kind": "robot"},
        {"agent_kind": "openhands"},
        {"agent_kind": "openhands", "llm_profile_ref": "x", "zz": 1},
    ],
)
def test_a_malformed_agent_profile_is_refused(agent_profiles, body):
    has_detail(agent_profiles.try_save(unique("agent"), body), 422)


def test_an_agent_profile_is_activated_by_id_and_keeps_active_through_a_rename(agent_profiles, settings):
    name = agent_profiles.save({"agent_kind": "openhands", "llm_profile_ref": "x"})
    profile_id, model = agent_profiles.get(name).json()["profile"]["id"], settings.llm()["model"]
    response = agent_profiles.post(profile_id, "activate")
    assert response.status_code == 200 and response.json()["agent_settings_applied"] is False
    assert agent_profiles.list()["active_agent_profile_id"] == profile_id
    assert settings.get()["active_agent_profile_id"] == profile_id
    assert settings.llm()["model"] == model, "a pointer, nothing more"
    new_name = unique("renamed")
    assert agent_profiles.rename(name, new_name).status_code == 200
    assert agent_profiles.get(new_name).json()["profile"]["id"] == profile_id
    assert agent_profiles.list()["active_agent_profile_id"] == profile_id
    agent_profiles.delete(new_name)
    active = agent_profiles.list()["active_agent_profile_id"]
    assert active != profile_id and active is not None
    has_detail(agent_profiles.post(new_name, "activate"), 404)
    has_detail(settings.try_patch(active_agent_profile_id=profile_id), 404)


def test_agent_profiles_do_not_take_each_others_names(agent_profiles):
    one, two = (agent_profiles.save({"agent_kind": "openhands", "llm_profile_ref": "x"}) for _ in range(2))
    has_detail(agent_profiles.rename(one, two), 409)
    has_detail(agent_profiles.rename(unique("missing"), unique("new")), 404)
    has_detail(agent_profiles.get(unique("missing")), 404)
    assert agent_profiles.delete(unique("missing")).status_code == 200


def test_a_profile_in_use_by_an_agent_profile_cannot_be_deleted(agent_profiles, profiles, llm):
    used = profiles.save({"llm": llm})
    name = agent_profiles.save({"agent_kind": "openhands", "llm_profile_ref": used})
    assert name in has_detail(profiles.delete(used), 409)
    new_name = unique("renamed")
    assert profiles.rename(used, new_name).status_code == 200
    assert agent_profiles.get(name).json()["profile"]["llm_profile_ref"] == new_name
    agent_profiles.delete(name)
    assert profiles.delete(new_name).status_code == 200


def test_what_an_agent_profile_leads_to_can_be_previewed(agent_profiles, profiles, llm):
    used = profiles.save({"llm": llm})
    name = agent_profiles.save({"agent_kind": "openhands", "llm_profile_ref": used})
    response = agent_profiles.post(name, "materialize")
    preview = response.json()
    assert preview["valid"] is preview["llm_profile_resolved"] is True
    assert preview["errors"] == []
    assert preview["resolved_settings"]["llm"]["model"] == llm["model"]
    assert llm["api_key"] not in response.text
    draft = {"profile": {"agent_kind": "openhands", "llm_profile_ref": unique("missing")}}
    preview = agent_profiles.post(name, "materialize", draft).json()
    assert preview["valid"] is False and len(preview["errors"]) == 1
    assert preview["resolved_settings"] is None
    assert agent_profiles.get(name).json()["profile"]["llm_profile_ref"] == used, "a draft"
    has_detail(agent_profiles.post(unique("missing"), "materialize"), 404)
    has_detail(agent_profiles.post(name, "materialize", {"profile": {"agent_kind": "z"}}), 422)


def test_secrets_can_be_listed_as_an_agent_profile_sees_them(agent_profiles, http, secret_name):
    put_secret(http, name=secret_name, value="x")
    body = {"agent_kind": "openhands", "llm_profile_ref": "x"}
    everything = agent_profiles.save(body)
    nothing = agent_profiles.save({**body, "secret_refs": []})
    this_one = agent_profiles.save({**body, "secret_refs": [secret_name, "MISSING"]})

    def seen(name):
        profile_id = agent_profiles.get(name).json()["profile"]["id"]
        response = http.get("/api/settings/secrets", params={"agent_profile_id": profile_id})
        return [secret["name"] for secret in response.json()["secrets"]]

    assert secret_name in seen(everything)
    assert (seen(nothing), seen(this_one)) == ([], [secret_name])
    has_detail(http.get("/api/settings/secrets", params={"agent_profile_id": "missing"}), 404)


# --- meta-profiles ---------------------------------------------------------------------------


@pytest.fixture
def meta_profiles(settings, http):
    yield from profiles_at(http, "/api/meta-profiles")


def listed_meta(meta_profiles):
    return {meta["name"]: meta for meta in meta_profiles.list()["meta_profiles"]}


ROUTES = {
    "classifier_model": "small",
    "classes": [{"description": "easy", "model": "small"}, {"description": "hard", "model": "large"}],
}


def test_a_meta_profile_is_saved_listed_read_and_deleted(meta_profiles):
    name = meta_profiles.save(ROUTES)
    assert listed_meta(meta_profiles)[name] == {"name": name, "classifier_model": "small", "num_classes": 2}
    got = meta_profiles.get(name).json()
    assert got["name"] == name and got["config"]["classes"] == ROUTES["classes"]
    for _ in range(2):
        assert meta_profiles.delete(name).status_code == 200
    has_detail(meta_profiles.get(name), 404)
    has_detail(meta_profiles.post(name, "activate"), 404)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"classifier_model": "small"},
        {**ROUTES, "classes": "x"},
        {"classifier_model": "small", "prompt_template": "no slot"},
    ],
)
def test_a_meta_profile_that_routes_nothing_is_refused(meta_profiles, body):
    has_detail(meta_profiles.try_save(unique("meta"), body), 422)


def test_activating_a_meta_profile_switches_routing_on_and_deleting_it_off(meta_profiles, settings):
    name = meta_profiles.save(ROUTES)
    response = meta_profiles.post(name, "activate")
    assert response.status_code == 200 and response.json()["applied"] is True
    assert meta_profiles.list()["active_meta_profile"] == name
    got = settings.get()
    assert got["active_meta_profile"] == got["agent_settings"]["active_meta_profile"] == name
    assert got["agent_settings"]["enable_classify_and_switch_llm_tool"] is True
    meta_profiles.delete(name)
    got = settings.get()
    assert got["active_meta_profile"] is None
    assert got["agent_settings"]["enable_classify_and_switch_llm_tool"] is False


# --- saved workspaces ------------------------------------------------------------------------


@pytest.fixture(params=["", "/parents"], ids=["workspaces", "parents"])
def saved(request, http, tmp_path):
    """The list of saved workspaces, and that of the directories that hold several."""

    class Saved:
        url, made = f"/api/workspaces{request.param}", []
        field, answer = {"": ("workspaces", "workspaces"), "/parents": ("parents", "workspaceParents")}[
            request.param
        ]

        def item(self, name):
            self.made.append(str(tmp_path / name))
            return {"id": unique(name), "name": name, "path": str(tmp_path / name)}

        def add(self, *items):
            response = http.post(self.url, json={self.field: list(items)})
            assert response.status_code == 200, response.text
            return self.ours(response.json())

        def ours(self, answer):
            assert set(answer) == {"workspaces", "workspaceParents"}
            return [item for item in answer[self.answer] if item["path"] in self.made]

        def all(self):
            return self.ours(http.get("/api/workspaces").json())

        def remove(self, path):
            return http.delete(self.url, params={"path": path})

    saved = Saved()
    yield saved
    for path in saved.made:
        saved.remove(path)


def test_workspaces_are_remembered_in_the_order_they_were_added(saved):
    first, second = saved.item("first"), saved.item("second")
    assert saved.add(second) == [second]
    assert saved.add(first) == [second, first] == saved.all()


def test_a_path_is_remembered_once(saved):
    item = saved.item("same")
    assert saved.add(item, {**item, "id": "other", "name": "other"}) == [item]
    assert saved.add({**item, "id": "third"}) == [item]


def test_a_workspace_can_be_forgotten(saved, http):
    keep, drop = saved.item("keep"), saved.item("drop")
    saved.add(keep, drop)
    response = saved.remove(drop["path"])
    assert (response.status_code, response.json()) == (200, {"deleted": True})
    assert saved.all() == [keep]
    has_detail(saved.remove(drop["path"]), 404)
    has_detail(http.delete(saved.url), 422)


@pytest.mark.parametrize("change", [{"id": ""}, {"name": ""}, {"path": ""}, {"path": None}])
def test_an_incomplete_workspace_is_refused(saved, http, change):
    item = {**saved.item("bad"), **change}
    has_detail(http.post(saved.url, json={saved.field: [item]}), 422)
    has_detail(http.post(saved.url, json={saved.field: "no list"}), 422)
    has_detail(http.post(saved.url, json={}), 422)
    assert saved.all() == []
