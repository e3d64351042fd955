"""Secrets in the tables, and what becomes of them under another key."""

import pytest
from django.apps import apps

from agentserver import sdk
from agentserver.configuration import connections, llm_profiles, settings_service, user_secrets
from agentserver.errors import NotFound

pytestmark = pytest.mark.django_db

CONDENSER = {"kind": "LLMSummarizingCondenser", "llm": {"model": "openai/x", "api_key": "canary-condenser"}}
EVERY_PLACE = {
    "llm": {
        "api_key": "canary-llm",
        "aws_secret_access_key": "canary-aws",
        "extra_headers": {"X": "canary-extra"},
    },
    "verification": {"critic_api_key": "canary-critic"},
    "agent_context": {"secrets": {"CONTEXT": "canary-context"}},
    "condenser": CONDENSER,
    "mcp_config": {
        "local": {"command": "x", "env": {"T": "canary-env"}},
        "remote": {"url": "http://h/mcp", "headers": {"X-Key": "canary-header"}},
        "signed": {"url": "http://h/mcp", "auth": {"strategy": "bearer", "value": "canary-auth"}},
    },
}


@pytest.fixture(autouse=True)
def use_key(monkeypatch):
    """Callable: the secrets at rest have this key from now on, and earlier ones if named."""
    sdk.require()
    from openhands.sdk.utils.cipher import Cipher

    def _use(key, *previous):
        cipher = Cipher(key, previous)
        monkeypatch.setattr(sdk, "cipher", lambda: cipher)

    _use("first")
    return _use


@pytest.fixture
def filled():
    """Every place that holds a secret holds a canary."""
    settings_service.patch(owner=None, changes={"agent_settings_diff": EVERY_PLACE})
    user_secrets.put(owner=None, name="NAMED", value="canary-secret", description=None)
    llm_profiles.save(owner=None, name="one", llm={"model": "openai/x", "api_key": "canary-profile"})
    connections.create(
        owner=None, display_name="Shared", provider="openai", api_key="canary-shared", base_url=None
    )


def plain():
    return settings_service.view(owner=None, expose="plaintext")


def profile_key():
    return llm_profiles.detail(owner=None, name="one", expose="plaintext")["config"]["api_key"]


def test_no_secret_is_readable_in_any_table(filled):
    models = apps.get_app_config("configuration").get_models()
    stored = " ".join(str(row) for model in models for row in model.objects.values())

    assert stored.count("gAAAAA") >= 11
    assert "canary" not in stored
    assert str(plain()).count("canary") >= 8, "all of it can be read back"


def test_under_another_key_everything_can_be_read_with_its_secrets_unset(filled, use_key):
    use_key("second")
    settings = plain()

    assert "canary" not in str(settings)
    assert "gAAAAA" not in str(settings)
    assert settings["llm_api_key_is_set"] is False
    assert settings["agent_settings"]["mcp_config"]["local"]["command"] == "x"
    assert profile_key() is None
    assert llm_profiles.listed(owner=None)["profiles"][0]["api_key_set"] is False
    assert connections.listed(owner=None)[0]["api_key_set"] is False
    assert [secret["name"] for secret in user_secrets.listed(owner=None)] == ["NAMED"]
    with pytest.raises(NotFound):
        user_secrets.value(owner=None, name="NAMED")


def test_writing_under_another_key_loses_only_what_it_names(filled, use_key):
    before = plain()
    use_key("second")
    change = {"llm": {"api_key": "canary-again", "temperature": 0.5}}
    settings_service.patch(owner=None, changes={"agent_settings_diff": change})
    llm_profiles.save(owner=None, name="one", llm={"model": "openai/renamed"})
    assert plain()["llm_api_key_is_set"] is True, "entered again, it works"

    use_key("first", "second")
    before["agent_settings"]["llm"] |= change["llm"]
    assert plain() == before
    assert profile_key() == "canary-profile"


def test_a_rotated_key_still_opens_what_the_previous_one_sealed(filled, use_key):
    before = plain()
    use_key("second", "first")

    assert plain() == before
    assert user_secrets.value(owner=None, name="NAMED") == "canary-secret"
