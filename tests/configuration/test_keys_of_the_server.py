"""The key that a server makes for itself: what it opens, and what clients may ask of it."""

import pytest

from tests.support.server import OwnServer

ENCRYPTED, PLAIN = {"X-Expose-Secrets": "encrypted"}, {"X-Expose-Secrets": "plaintext"}


@pytest.fixture
def server(tmp_path):
    """Started without any key, and told to hand secrets out encrypted, as `make serve` does."""
    server = OwnServer(tmp_path / "server", OH_EXPOSE_ENCRYPTED_SECRETS="true")
    yield server.start().wait_ready()
    server.stop()


def api_key(server, headers):
    return server.http.get("/api/settings", headers=headers).json()["agent_settings"]["llm"]["api_key"]


def test_secrets_sealed_before_there_was_a_secret_key_stay_readable(server):
    change = {"agent_settings_diff": {"llm": {"api_key": "sk-mine"}}}
    assert server.http.patch("/api/settings", json=change).status_code == 200
    handed_out = api_key(server, ENCRYPTED)
    assert handed_out.startswith("gAAAAA")

    server.stop()
    server.start(OH_SECRET_KEY="a-secret-key").wait_ready()
    assert api_key(server, PLAIN) == "sk-mine"
    change["agent_settings_diff"]["llm"]["api_key"] = handed_out
    assert server.http.patch("/api/settings", json=change).status_code == 200, "what a client holds, too"
    assert api_key(server, PLAIN) == "sk-mine"
