"""A dormant server: closed but to who started it, configured once."""

import pytest
from pydantic import ValidationError

from agentserver.auth import doors, initialization
from agentserver.auth.initialization import InitRequest

BOOT = {"X-Init-API-Key": "boot-key"}


@pytest.fixture
def dormant(configure, monkeypatch):
    configure(deferred_init=True, secret_key="boot-key", session_api_keys=[], previous_secret_keys=[])
    monkeypatch.setattr(initialization, "_done", False)
    initialization._boot_key.cache_clear()
    yield
    initialization._boot_key.cache_clear()


async def test_everything_but_its_own_route_is_503(ask, dormant):
    for method, path in [
        ("GET", "/api/settings"),
        ("POST", "/api/bash/x"),
        ("GET", "/v1/models"),
        ("GET", "/api/init/x"),
    ]:
        response = await ask(method, path)
        assert (response.status_code, response.json()["code"]) == (503, "dormant")


async def test_a_dormant_server_opens_no_socket(scope_of, dormant):
    with pytest.raises(doors.Denied):
        await doors.socket_principal(scope_of())


async def test_only_the_boot_key_configures_it(ask, dormant):
    for headers in (
        {},
        {"X-Init-API-Key": "wrong"},
        {"X-Init-API-Key": ""},
        {"X-Session-API-Key": "boot-key"},
    ):
        assert (await ask("POST", "/api/init", headers=headers)).status_code == 401
    assert (await ask("POST", "/api/init", headers=BOOT)).status_code == 200
    assert (await ask("GET", "/api/init")).status_code == 200


async def test_it_is_configured_once(ask, dormant, monkeypatch):
    monkeypatch.setattr("agentserver.sdk.cipher.cache_clear", lambda: None, raising=False)
    wanted = InitRequest(session_api_keys=["user-key"], env={"FROM_INIT_TEST": "yes"})
    assert initialization.initialize(wanted)
    assert not initialization.initialize(wanted)

    assert initialization.status().state == "ready"
    assert (await ask("GET", "/api/settings")).status_code == 401
    assert (await ask("GET", "/api/settings", headers={"X-Session-API-Key": "user-key"})).status_code == 200
    assert (await ask("POST", "/api/init", headers=BOOT)).status_code == 200  # the view says 400
    monkeypatch.delenv("FROM_INIT_TEST")


@pytest.mark.parametrize("body", [{"unknown": 1}, {"session_api_keys": [""]}, {"max_concurrent_runs": 0}])
def test_a_bad_configuration_is_refused(body):
    with pytest.raises(ValidationError):
        InitRequest.model_validate(body)


async def test_a_server_that_is_not_deferred_asks_for_a_key_first(ask, keyed):
    assert (await ask("GET", "/api/init")).status_code == 401
