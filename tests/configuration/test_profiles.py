"""Profiles over HTTP: keys that stay, references that follow, names that do not clash."""

import pytest


@pytest.fixture
def key_of(http, plaintext):
    return lambda name: http.get(f"/api/profiles/{name}", headers=plaintext).json()["config"]["api_key"]


@pytest.mark.parametrize("key", ["left out", None, "", "**********"])
def test_a_profile_saved_without_its_key_keeps_it(http, saved, llm, key_of, key):
    name = saved("profiles", "kept", {"llm": llm})
    changed = {**llm, "model": "openai/other", "api_key": key}
    if key == "left out":
        del changed["api_key"]
    saved("profiles", name, {"llm": changed})

    assert key_of(name) == "sk-plain"
    assert http.get(f"/api/profiles/{name}").json()["config"]["model"] == "openai/other"


def test_a_profile_shown_and_saved_again_is_the_same(http, saved, llm, plaintext):
    name = saved("profiles", "shown", {"llm": {**llm, "extra_headers": {"X-Key": "sk-header"}}})
    before = http.get(f"/api/profiles/{name}", headers=plaintext).json()
    saved("profiles", name, {"llm": http.get(f"/api/profiles/{name}").json()["config"]})

    assert http.get(f"/api/profiles/{name}", headers=plaintext).json() == before


def test_every_reference_follows_a_rename_and_keeps_the_profile_from_deletion(http, saved, llm, cleaned):
    cleaned("/api/profiles/large-renamed")
    saved("profiles", "large", {"llm": llm})
    saved("agent-profiles", "user-of-large", {"llm_profile_ref": "large"})
    routes = {"classifier_model": "large", "classes": [{"description": "all", "model": "large"}]}
    saved("meta-profiles", "router-of-large", routes)
    http.post("/api/profiles/large/activate")

    assert http.post("/api/profiles/large/rename", json={"new_name": "large-renamed"}).status_code == 200
    agent = http.get("/api/agent-profiles/user-of-large").json()["profile"]
    meta = http.get("/api/meta-profiles/router-of-large").json()["config"]
    assert agent["llm_profile_ref"] == "large-renamed"
    assert meta == {**meta, "classifier_model": "large-renamed"}
    assert meta["classes"][0]["model"] == "large-renamed"
    assert http.get("/api/settings").json()["active_profile"] == "large-renamed"

    refused = http.delete("/api/profiles/large-renamed")
    assert refused.status_code == 409
    assert "user-of-large, router-of-large" in refused.json()["detail"]


def test_names_differ_by_case(http, saved, llm, key_of):
    saved("profiles", "Case", {"llm": llm})
    saved("profiles", "case", {"llm": {**llm, "api_key": "sk-other"}})

    assert (key_of("Case"), key_of("case")) == ("sk-plain", "sk-other")


def test_a_json_suffix_is_not_part_of_a_name(http, saved, llm):
    saved("profiles", "suffixed.json", {"llm": llm})

    assert http.get("/api/profiles/suffixed").json()["name"] == "suffixed"


def test_a_draft_of_a_model_is_tried_with_the_key_that_is_kept(http, saved, llm):
    name = saved("profiles", "tried", {"llm": llm})
    response = http.post(f"/api/profiles/{name}/validate", json={"llm": {**llm, "api_key": None}})

    assert response.json() == {"valid": True, "error": None}
