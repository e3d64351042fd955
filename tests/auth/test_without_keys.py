"""A server without keys is for this machine: no rebound name, no page of another site."""

import pytest

from agentserver.auth import doors

EVIL = "https://evil.example"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "a@localhost",
        "",
    ],
)
async def test_a_foreign_name_is_refused(ask, host):
    response = await ask("GET", "/api/x", headers={"Host": host})
    assert (response.status_code, response.json()["code"]) == (400, "unknown_host")


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "localhost", "[::1]:8000", "app.localhost:3000", "10.0.0.7", "LOCALHOST"]
)
async def test_a_name_of_this_machine_is_accepted(ask, host):
    assert (await ask("GET", "/api/x", headers={"Host": host})).status_code == 200


async def test_names_can_be_added(ask, configure):
    configure(allowed_hosts=["agents.lan"], web_url="https://web.example/agents")
    for host in ("agents.lan", "web.example"):
        assert (await ask("GET", "/api/x", headers={"Host": host})).status_code == 200


async def test_probes_do_not_mind_the_name(ask):
    for path in ("/alive", "/health", "/ready"):
        assert (await ask("GET", path, headers={"Host": "pod-7.cluster"})).status_code == 200


async def test_with_keys_any_name_will_do(ask, keyed):
    headers = {"Host": "agents.example", "X-Session-API-Key": keyed}
    assert (await ask("GET", "/api/x", headers=headers)).status_code == 200


@pytest.mark.parametrize("origin", [EVIL, "null", "http://localhost.evil.example", "file://"])
async def test_a_foreign_page_cannot_write(ask, origin):
    response = await ask("POST", "/api/x", json={}, headers={"Origin": origin})
    assert (response.status_code, response.json()["code"]) == (403, "foreign_origin")


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1", "http://127.0.0.1:8000"])
async def test_a_local_page_can_write(ask, origin):
    assert (await ask("POST", "/api/x", json={}, headers={"Origin": origin})).status_code == 200


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "TEXT/PLAIN;a=b"],
)
async def test_what_a_form_can_send_is_no_json(ask, kind):
    response = await ask(
        "POST", "/api/bash/start_bash_command", content=b"{}", headers={"Content-Type": kind}
    )

    assert response.status_code == 422
    assert response.json()["detail"][0]["loc"] == ["header", "content-type"]


async def test_an_upload_is_a_form(ask):
    assert (await ask("POST", "/api/file/upload", files={"file": b"x"})).status_code == 200


@pytest.mark.parametrize("headers", [{"origin": EVIL}, {"origin": "null"}, {"host": "evil.example"}])
async def test_a_foreign_page_opens_no_socket(scope_of, headers):
    with pytest.raises(doors.Denied):
        await doors.socket_principal(scope_of(**headers))


@pytest.mark.parametrize(
    "headers", [{}, {"origin": "http://localhost:3000"}, {"origin": "http://127.0.0.1:8000"}]
)
async def test_a_local_client_opens_sockets(scope_of, headers):
    assert await doors.socket_principal(scope_of(**headers)) == doors.OPERATOR
