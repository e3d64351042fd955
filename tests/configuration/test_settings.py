"""Settings over HTTP: what a form does to them, and what many writers at once do."""

from concurrent.futures import ThreadPoolExecutor

import pytest

MASK = "**********"


@pytest.fixture
def settings(http, plaintext):
    """The agent settings in plain; what a test changes of them is put back."""

    def read(headers=plaintext):
        return http.get("/api/settings", headers=headers).json()["agent_settings"]

    before = read()
    yield read
    changed = {key: before.get(key) for key in ("llm", "mcp_config", "agent_context", "verification")}
    gone = {name: None for name in read()["mcp_config"] if name not in before["mcp_config"]}
    http.patch("/api/settings", json={"agent_settings_diff": {**changed, "mcp_config": gone}})


@pytest.fixture
def patch(http):
    def _patch(**diff):
        response = http.patch("/api/settings", json={"agent_settings_diff": diff})
        assert response.status_code == 200, response.text
        return response.json()

    return _patch


def test_a_form_that_shows_everything_and_saves_it_changes_no_secret(settings, patch, http):
    patch(
        llm={"api_key": "sk-llm", "aws_secret_access_key": "sk-aws"},
        mcp_config={
            "local": {"command": "x", "env": {"TOKEN": "sk-env"}},
            "remote": {"url": "http://here/mcp", "auth": {"strategy": "bearer", "value": "sk-bearer"}},
        },
        agent_context={"secrets": {"CONTEXT": "sk-context"}},
        verification={"critic_api_key": "sk-critic"},
    )
    before = settings()
    shown = settings({})
    assert "sk-" not in str(shown)
    patch(**shown)

    assert settings() == before
    assert before["mcp_config"]["remote"]["auth"]["value"] == "sk-bearer"


def test_a_mask_where_there_is_no_secret_is_not_stored(settings, patch):
    patch(llm={"api_key": None})
    patch(llm={"api_key": MASK}, mcp_config={"local": {"command": "x", "env": {"TOKEN": MASK, "PLAIN": "1"}}})

    assert settings()["llm"]["api_key"] is None
    assert settings()["mcp_config"]["local"]["env"] == {"PLAIN": "1"}


def test_null_deletes_one_entry_and_its_siblings_stay(settings, patch):
    patch(mcp_config={"local": {"command": "x", "env": {"A": "1", "B": "2", "C": "3"}}})
    patch(mcp_config={"local": {"env": {"B": None}}})

    assert settings()["mcp_config"]["local"]["env"] == {"A": "1", "C": "3"}


def test_a_hundred_writers_at_once_lose_nothing(http, cleaned):
    names = [f"PARALLEL_{number}" for number in range(50)]
    for name in names:
        cleaned(f"/api/settings/secrets/{name}")
    cleaned("/api/settings/mcp/parallel")
    http.post("/api/settings/mcp/parallel", json={"command": "x"})

    def write(number):
        if number < 50:
            body = {"name": names[number], "value": f"value {number}"}
            return http.put("/api/settings/secrets", json=body).status_code
        if number < 75:
            return http.patch("/api/settings/mcp/parallel", json={"env": {f"E{number}": "1"}}).status_code
        body = {"misc_settings_diff": {"parallel": {f"M{number}": number}}}
        return http.patch("/api/settings", json=body).status_code

    with ThreadPoolExecutor(25) as pool:
        statuses = list(pool.map(write, range(100)))

    assert set(statuses) == {200}
    listed = {secret["name"] for secret in http.get("/api/settings/secrets").json()["secrets"]}
    settings = http.get("/api/settings").json()
    assert set(names) <= listed
    assert len(settings["agent_settings"]["mcp_config"]["parallel"]["env"]) == 25
    assert len(settings["misc_settings"]["parallel"]) == 25
    http.patch("/api/settings", json={"misc_settings_diff": {"parallel": None}})


UNSAFE = ("a b", "-a", "a" * 65, "a%0a", "%2e%2e%2fx", "a%2Fb", "%2e%2e", ".hidden", "%C3%BC", "a%00b")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/profiles/{}"),
        ("POST", "/api/profiles/{}"),
        ("DELETE", "/api/profiles/{}"),
        ("POST", "/api/profiles/{}/activate"),
        ("POST", "/api/profiles/{}/rename"),
        ("POST", "/api/profiles/{}/validate"),
        ("GET", "/api/agent-profiles/{}"),
        ("POST", "/api/agent-profiles/{}"),
        ("DELETE", "/api/agent-profiles/{}"),
        ("POST", "/api/agent-profiles/{}/materialize"),
        ("GET", "/api/meta-profiles/{}"),
        ("POST", "/api/meta-profiles/{}"),
        ("GET", "/api/settings/secrets/{}"),
        ("GET", "/api/skills/installed/{}"),
        ("DELETE", "/api/plugins/installed/{}"),
    ],
)
def test_a_name_that_is_unsafe_in_paths_reaches_no_route(http, method, path):
    body = {"llm": {"model": "x"}, "new_name": "fine", "llm_profile_ref": "x"} if method == "POST" else None
    for name in UNSAFE:
        response = http.request(method, path.format(name), json=body)

        assert response.status_code in (404, 422), (name, response.text)
        assert "detail" in response.json()


@pytest.mark.parametrize(
    "body",
    [
        {"agent_settings_diff": {"llm": {"api_key": "sk-canary", "temperature": "hot"}}},
        {"agent_settings_diff": {"llm": {"api_key": "sk-canary", "model": ["sk-canary"]}}},
        {"agent_settings_diff": {"mcp_config": {"x": {"url": "u", "command": 5, "env": {"T": "sk-canary"}}}}},
        {"agent_settings_diff": {"mcp_config": {"x": {"transport": "sk-canary"}}}},
        {"agent_settings_diff": {"agent_context": {"secrets": ["sk-canary"]}}},
        {"agent_settings_diff": "sk-canary"},
        {"conversation_settings_diff": {"max_iterations": "sk-canary"}},
        {"active_profile": "sk-canary/../x"},
    ],
)
def test_a_refusal_repeats_nothing_of_what_was_sent(http, body):
    response = http.patch("/api/settings", json=body)

    assert response.status_code == 422, response.text
    assert "sk-canary" not in response.text
