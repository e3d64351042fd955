"""The gate: strangers stop here, whatever they spell; what they send is not read."""

import httpx
import pytest

from agentserver.front.gate import OPEN
from agentserver.openapi.generator import every_path, sample
from tests.auth.conftest import KEY, who

CLOSED = sorted({(o.method, sample(path)) for path, o in every_path() if not o.open})
ODD = [
    lambda path: path + "/",
    lambda path: "/" + path,
    lambda path: path.replace("/api/", "/api//", 1),
    lambda path: path.upper(),
    lambda path: path.replace("/", "/./", 1),
    lambda path: path.replace("/", "/%2e/", 1),
    lambda path: path + "%00",
    lambda path: path + ";x=1",
    lambda path: path.replace("/api/", "/docs/../api/", 1),
]


async def test_every_described_operation_needs_a_key(ask, keyed):
    for method, path in CLOSED:
        for one in {method, "HEAD", "OPTIONS"}:
            response = await ask(one, path)
            assert response.status_code == 401, (one, path)
    assert len(CLOSED) > 100


async def test_an_odd_spelling_needs_a_key_too(ask, keyed):
    for method, path in CLOSED[::7]:
        for spelling in ODD:
            response = await ask(method, spelling(path))
            assert response.status_code == 401, spelling(path)


async def test_what_is_nowhere_described_needs_a_key(ask, keyed):
    for path in ("/nothing", "/sockets/bash-events", "/api", "/API/x", "/v1/models", "/alive/x"):
        assert (await ask("GET", path)).status_code == 401, path


@pytest.mark.parametrize("path", sorted(OPEN))
async def test_what_probes_and_readers_need_is_open(ask, keyed, path):
    assert (await ask("GET", path)).status_code == 200


@pytest.mark.parametrize(
    "given",
    [b"\xff\xfe", b"", b"x" * 65536, KEY.encode() + b"\xff", f"{KEY},{KEY}".encode(), KEY.upper().encode()],
    ids=["no text", "empty", "64 KiB", "key and more", "twice in one", "other case"],
)
async def test_any_bytes_that_are_no_key_are_401(ask, keyed, given):
    response = await ask("GET", "/api/x", headers=[(b"X-Session-API-Key", given)])

    assert response.status_code == 401
    assert response.json() == {"detail": "Unauthorized", "code": "unauthorized"}


async def test_two_headers_are_no_key(ask, keyed):
    both = [("X-Session-API-Key", KEY), ("X-Session-API-Key", KEY)]
    assert (await ask("GET", "/api/x", headers=both)).status_code == 401


async def test_a_key_acts_as_the_operator(ask, keyed):
    response = await ask("GET", "/api/x", headers={"X-Session-API-Key": KEY})
    assert who(response) == {"operator": True, "user_id": None}


async def test_openai_clients_bring_their_key_as_a_bearer_and_only_to_v1(ask, keyed):
    bearer = {"Authorization": f"Bearer {KEY}"}
    assert (await ask("GET", "/v1/models", headers=bearer)).status_code == 200
    assert (await ask("GET", "/api/x", headers=bearer)).status_code == 401


# --- sizes ---------------------------------------------------------------------------------------


async def _pieces(count):
    for _ in range(count):
        yield b"x" * 100


async def test_a_stated_length_above_the_limit_is_413(ask, configure):
    configure(max_body_bytes=1000)
    response = await ask("POST", "/api/x", content=b"x" * 1001)

    assert response.status_code == 413
    assert response.json()["code"] == "too_large"


async def test_a_body_without_a_length_is_counted(ask, configure):
    configure(max_body_bytes=1000)

    assert (await ask("POST", "/api/x", content=_pieces(11))).status_code == 413
    assert (await ask("POST", "/api/x", content=_pieces(10))).json()["size"] == 1000


async def test_an_upload_has_a_limit_of_its_own(ask, configure):
    configure(max_body_bytes=10, max_upload_bytes=1000)
    file = {"file": b"x" * 500}

    assert (await ask("POST", "/api/file/upload", files=file)).status_code == 200
    assert (await ask("POST", "/api/file/upload", files={"file": b"x" * 2000})).status_code == 413


# --- what breaks inside --------------------------------------------------------------------------


async def test_a_crash_is_answered_in_json_and_pages_can_read_it(ask):
    from agentserver.front.cors import Cors
    from agentserver.front.gate import Gate

    async def crash(scope, receive, send):
        raise RuntimeError("secret-inside")

    response = await ask(
        "GET", "/api/x", application=Cors(Gate(crash)), headers={"Origin": "http://localhost:3000"}
    )

    assert (response.status_code, response.json()["code"]) == (500, "internal")
    assert "secret-inside" not in response.text
    assert response.headers["access-control-allow-origin"] == "http://localhost:3000"


async def test_no_answer_of_the_gate_is_an_unread_length(ask, keyed):
    response: httpx.Response = await ask("POST", "/api/x", content=b"x")
    assert int(response.headers["content-length"]) == len(response.content)
