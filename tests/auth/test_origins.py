"""Which pages may read answers, and never with a browser's own credentials by accident."""

import pytest

EVIL = "https://evil.example"


async def test_a_foreign_page_reads_nothing_with_a_key(ask, keyed):
    response = await ask("GET", "/api/x", headers={"Origin": EVIL, "X-Session-API-Key": keyed})

    assert response.status_code == 200
    assert "access-control-allow-origin" not in response.headers
    assert "access-control-allow-credentials" not in response.headers


async def test_a_refusal_can_be_read_by_an_allowed_page(ask, keyed):
    response = await ask("GET", "/api/x", headers={"Origin": "http://localhost:3000"})

    assert response.status_code == 401
    assert response.headers["access-control-allow-origin"] == "http://localhost:3000"


async def test_origins_by_pattern_match_as_a_whole(ask, configure):
    configure(allow_cors_origin_regex=r"https://[a-z]+\.example\.com")
    for origin, allowed in [
        ("https://app.example.com", True),
        ("https://app.example.com.evil.example", False),
        ("http://app.example.com", False),
    ]:
        response = await ask("GET", "/health", headers={"Origin": origin})
        assert ("access-control-allow-origin" in response.headers) is allowed, origin


async def test_the_docker_host_is_local(ask, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST_ADDR", "172.17.0.1")
    response = await ask("GET", "/health", headers={"Origin": "http://172.17.0.1:3000"})
    assert response.headers["access-control-allow-origin"] == "http://172.17.0.1:3000"


async def test_a_star_never_comes_with_credentials(ask, keyed, configure):
    configure(allow_cors_origins=["*"])
    response = await ask("GET", "/api/x", headers={"Origin": EVIL, "X-Session-API-Key": keyed})

    assert response.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in response.headers


async def test_a_star_does_not_open_a_server_without_keys(ask, configure):
    configure(allow_cors_origins=["*"])
    assert (await ask("POST", "/api/x", json={}, headers={"Origin": EVIL})).status_code == 403


@pytest.mark.parametrize("origin", ["http://localhost:3000", EVIL])
async def test_pages_with_cookies_are_read_by_no_other_page(ask, keyed, origin):
    response = await ask("GET", "/admin/", headers={"Origin": origin})
    assert "access-control-allow-origin" not in response.headers


async def test_a_preflight_needs_no_key(ask, keyed):
    response = await ask(
        "OPTIONS",
        "/api/x",
        headers={"Origin": "http://localhost:3000", "Access-Control-Request-Method": "POST"},
    )
    assert response.status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://[::1", "http://a:b", "\x00", "http://localhost:99999", "a" * 5000]
)
async def test_an_origin_that_is_none_is_refused_and_breaks_nothing(ask, origin):
    response = await ask("GET", "/health", headers=[(b"Origin", origin.encode())])
    assert response.status_code == 200
    assert "access-control-allow-origin" not in response.headers
