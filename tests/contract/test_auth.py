"""Who may use the server: session keys for REST and sockets, the cookie for workspace files.

These tests start a server of their own with two keys (see ownserver.py).
"""

import http.cookies
import json
import time

import httpx
import pytest

from tests.contract.conftest import plan, user_message
from tests.contract.feed import assert_refused, is_full_state
from tests.contract.ownserver import START_CMD, OwnServer

KEYS = ("key-one-3f9c", "key-two-77ab")
UNKNOWN = "00000000-0000-0000-0000-000000000001"
COOKIE = "oh_workspace_session_key"
APP = "https://app.example.com"

SESSION = pytest.param("session", marks=pytest.mark.since_1_23)

OPEN_PATHS = ["/", "/alive", "/health", "/ready", "/server_info", "/docs", "/openapi.json"]
PROTECTED = [
    ("GET", "/api/conversations/search"),
    ("GET", "/api/conversations/count"),
    ("POST", "/api/conversations"),
    ("GET", f"/api/conversations/{UNKNOWN}"),
    ("DELETE", f"/api/conversations/{UNKNOWN}"),
    ("POST", f"/api/conversations/{UNKNOWN}/run"),
    ("GET", f"/api/conversations/{UNKNOWN}/events/search"),
    ("GET", f"/api/conversations/{UNKNOWN}/workspace/file.txt"),
    ("POST", "/api/bash/execute_bash_command"),
    ("GET", "/api/bash/bash_events/search"),
    ("GET", "/api/file/download?path=/etc/hostname"),
    ("POST", "/api/file/upload?path=/tmp/x"),
    ("GET", "/api/git/changes?path=/tmp"),
    ("GET", "/api/tools/"),
    ("GET", "/api/settings"),
    ("GET", "/api/llm/models"),
    ("POST", "/api/skills"),
    ("POST", "/api/auth/workspace-session"),
    ("DELETE", "/api/auth/workspace-session"),
]
NO_KEY = [
    pytest.param({}, id="nothing"),
    pytest.param({"X-Session-API-Key": "wrong"}, id="wrong key"),
    pytest.param({"X-Session-API-Key": ""}, id="empty key"),
    pytest.param({"X-Session-API-Key": KEYS[0][:-1]}, id="part of a key"),
    pytest.param({"X-Session-API-Key": KEYS[0] + "x"}, id="key and more"),
    pytest.param({"X-Session-API-Key": KEYS[0].upper()}, id="other case"),
    pytest.param({"X-Session-API-Key": ",".join(KEYS)}, id="both keys in one"),
    pytest.param({"Authorization": f"Bearer {KEYS[0]}"}, id="bearer"),
    pytest.param({"Cookie": f"{COOKIE}={KEYS[0]}"}, id="workspace cookie"),
]


def key(value=KEYS[0]):
    return {"X-Session-API-Key": value}


def auth(value):
    return {"type": "auth", "session_api_key": value}


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    if not START_CMD:
        pytest.skip("AGENT_SERVER_START_CMD is not set")
    server = OwnServer(
        tmp_path_factory.mktemp("secured"),
        OH_SESSION_API_KEYS_0=KEYS[0],
        OH_SESSION_API_KEYS_1=KEYS[1],
        OH_ALLOW_CORS_ORIGINS_0=APP,
        OH_ALLOW_CORS_ORIGINS_1="https://two.example.com:8443",
    )
    yield server.start()
    server.stop()


@pytest.fixture(scope="module")
def guest(secured):
    """A client without a key."""
    with httpx.Client(base_url=secured.url, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def conversation_id(guest, agent_config, tmp_path_factory):
    """A conversation on the secured server, with a few files in its workspace."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "page.html").write_text("<h1>page</h1>")
    (folder / "with space.txt").write_text("spaced")
    (folder / "site").mkdir()
    (folder / "site" / "index.html").write_text("<h1>index</h1>")
    (folder / "empty").mkdir()
    (folder / "outside").symlink_to("/etc/hostname")
    response = guest.post(
        "/api/conversations",
        headers=key(),
        json={"agent": agent_config, "workspace": {"kind": "LocalWorkspace", "working_dir": str(folder)}},
    )
    assert response.status_code == 201, response.text
    return response.json()["id"]


@pytest.fixture
def connect(secured, listen):
    """Callable that opens a socket of the secured server, with no key of its own."""
    return lambda path, headers=None: listen(path, headers=headers or {}, base=secured.url)


@pytest.fixture(params=["events", SESSION, "bash"])
def socket_path(request, conversation_id):
    return {
        "events": f"/sockets/events/{conversation_id}",
        "session": f"/sockets/session/{conversation_id}",
        "bash": "/sockets/bash-events",
    }[request.param]


def is_error(frame):
    """The answer to a bad message, on any of the sockets."""
    return (frame.get("kind") or frame["type"]) in ("ServerErrorEvent", "BashError", "error")


def works(feed):
    """Assert that a socket is in use: it answers a message that makes no sense."""
    feed.send("not JSON")
    feed.wait(is_error)
    return True


# --- REST --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", OPEN_PATHS)
@pytest.mark.parametrize("headers", [{}, key("wrong")], ids=["no key", "wrong key"])
def test_what_a_load_balancer_and_a_reader_need_is_open(guest, path, headers):
    assert guest.get(path, headers=headers).status_code == 200


@pytest.mark.parametrize("method, path", PROTECTED)
def test_without_a_key_the_api_is_closed(guest, method, path):
    """401 before anything else: no validation, no lookup, no effect."""
    response = guest.request(method, path)
    assert response.status_code == 401, response.text
    assert response.json()["detail"]
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize("headers", NO_KEY)
def test_what_is_not_a_key_does_not_open_the_api(guest, headers):
    response = guest.get("/api/conversations/count", headers=headers)
    assert response.status_code == 401
    assert response.json()["detail"]


def test_a_key_in_the_query_does_not_open_the_api(guest):
    """It would end up in access logs."""
    response = guest.get("/api/conversations/count", params={"session_api_key": KEYS[0]})
    assert response.status_code == 401


@pytest.mark.parametrize("value", KEYS)
@pytest.mark.parametrize("header", ["X-Session-API-Key", "x-session-api-key"])
def test_each_key_opens_the_api(guest, value, header):
    assert guest.get("/api/conversations/count", headers={header: value}).status_code == 200


def test_a_request_without_a_key_has_no_effect(guest, conversation_id, tmp_path):
    proof = tmp_path / "proof.txt"
    refused = [
        guest.post("/api/bash/execute_bash_command", json={"command": f"touch {proof}"}),
        guest.post("/api/file/upload", params={"path": str(proof)}, files={"file": b"data"}),
        guest.delete(f"/api/conversations/{conversation_id}"),
        guest.post(f"/api/conversations/{conversation_id}/events", json=user_message("hi", True)),
    ]
    assert {response.status_code for response in refused} == {401}
    assert not proof.exists()
    info = guest.get(f"/api/conversations/{conversation_id}", headers=key())
    assert info.json()["execution_status"] == "idle"


def test_a_bad_body_without_a_key_is_401_not_422(guest):
    """An answer about the body would let strangers explore the API."""
    for body in (b"not JSON", b"{}", b'{"agent": {}}'):
        assert guest.post("/api/conversations", content=body).status_code == 401
    assert guest.post("/api/conversations", json={}, headers=key()).status_code == 422


def test_the_old_variable_session_api_key_sets_a_key_too(own_server):
    server = own_server(SESSION_API_KEY="old-style-key")
    assert server.http.get("/api/conversations/count").status_code == 401
    response = server.http.get("/api/conversations/count", headers=key("old-style-key"))
    assert response.status_code == 200


def test_no_answer_shows_a_key(guest, conversation_id):
    for path in [*OPEN_PATHS, f"/api/conversations/{conversation_id}", "/api/settings"]:
        text = guest.get(path, headers=key()).text
        assert not any(value in text for value in KEYS), path


# --- sockets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", KEYS)
@pytest.mark.parametrize("how", ["first message", "query", "header"])
def test_a_socket_accepts_each_key_in_each_way(connect, socket_path, how, value):
    feed = connect(
        f"{socket_path}?session_api_key={value}" if how == "query" else socket_path,
        key(value) if how == "header" else None,
    )
    if how == "first message":
        feed.send(auth(value))
    assert works(feed)


def test_a_client_may_send_its_key_twice(connect, socket_path):
    """Query or header first, then a first message that is no longer needed."""
    feed = connect(f"{socket_path}?session_api_key={KEYS[0]}")
    feed.send(auth(KEYS[0]))
    assert works(feed)
    assert sum(map(is_error, feed.frames)) == 1, "only the answer to the bad message"


def test_nothing_is_sent_before_the_key(connect, socket_path, conversation_id, guest):
    feed = connect(socket_path)
    guest.post(
        f"/api/conversations/{conversation_id}/events", headers=key(), json=user_message("hello", False)
    )
    guest.post("/api/bash/execute_bash_command", headers=key(), json={"command": "true"})
    assert feed.frames == []
    feed.send(auth(KEYS[0]))
    assert works(feed)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(auth("wrong"), id="wrong key"),
        pytest.param(auth(""), id="empty key"),
        pytest.param(auth(None), id="null"),
        pytest.param(auth(KEYS[0] + " "), id="key and a blank"),
        pytest.param(auth([KEYS[0]]), id="keys in a list"),
        pytest.param(auth({KEYS[0]: 1}), id="an object"),
        pytest.param(auth(1), id="a number"),
        pytest.param({"type": "auth"}, id="no key"),
        pytest.param({"type": "hello", "session_api_key": KEYS[0]}, id="other type"),
        pytest.param({"session_api_key": KEYS[0]}, id="no type"),
        pytest.param([auth(KEYS[0])], id="a list"),
        pytest.param("not JSON", id="not JSON"),
        pytest.param("", id="empty text"),
        pytest.param(json.dumps(KEYS[0]), id="just the key"),
        pytest.param(user_message("run something"), id="a user message"),
    ],
)
def test_a_first_message_that_is_no_key_closes_the_socket_with_4001(connect, socket_path, message):
    feed = connect(socket_path)
    feed.send(message)
    assert feed.wait_closed() == 4001
    assert feed.frames == []


@pytest.mark.beyond  # the reference fails inside and drops the connection, so the client sees 1006
def test_a_binary_first_message_closes_the_socket_with_4001(connect, socket_path):
    feed = connect(socket_path)
    feed.send(b"\x00\x01")
    assert feed.wait_closed() == 4001


@pytest.mark.parametrize("how", ["query", "empty query", "header"])
def test_a_wrong_key_in_the_handshake_is_refused(connect, socket_path, how):
    query = {"query": "?session_api_key=wrong", "empty query": "?session_api_key="}.get(how, "")
    assert_refused(connect, socket_path + query, headers=key("wrong") if how == "header" else None)


def test_the_workspace_cookie_does_not_open_a_socket(connect, socket_path):
    feed = connect(socket_path, {"Cookie": f"{COOKIE}={KEYS[0]}"})
    feed.send({"hello": "there"})
    assert feed.wait_closed() == 4001
    assert feed.frames == []


@pytest.mark.parametrize("kind", ["events", SESSION])
def test_only_who_has_a_key_learns_whether_a_conversation_exists(connect, kind):
    stranger, friend = (connect(f"/sockets/{kind}/{UNKNOWN}") for _ in range(2))
    stranger.send(auth("wrong"))
    friend.send(auth(KEYS[1]))
    assert (stranger.wait_closed(), friend.wait_closed()) == (4001, 4004)


@pytest.mark.slow
@pytest.mark.since_1_23
def test_a_client_that_says_nothing_is_closed_with_4001_in_time(connect, conversation_id):
    """Within 5 to 15 seconds, so that slow clients have a chance and idle ones do not pile up."""
    begin = time.monotonic()
    feeds = [
        connect(path)
        for path in (
            f"/sockets/events/{conversation_id}",
            f"/sockets/session/{conversation_id}",
            "/sockets/bash-events",
        )
    ]
    assert {feed.wait_closed(timeout=20) for feed in feeds} == {4001}
    assert 5 <= time.monotonic() - begin <= 15


def test_a_run_can_be_started_and_followed_with_a_first_message_key(connect, guest, agent_config, tmp_path):
    response = guest.post(
        "/api/conversations",
        headers=key(),
        json={"agent": agent_config, "workspace": {"kind": "LocalWorkspace", "working_dir": str(tmp_path)}},
    )
    feed = connect(f"/sockets/events/{response.json()['id']}")
    feed.send(auth(KEYS[1]))
    feed.say(plan({"tool": "finish", "args": {"message": "done"}}))
    feed.wait(is_full_state("finished"))


# --- the cookie for workspace files ------------------------------------------------------------


def set_cookie(response):
    """The workspace cookie an answer sets, as a Morsel and as written."""
    [written] = response.headers.get_list("set-cookie")
    jar = http.cookies.SimpleCookie(written.replace("; Partitioned", ""))
    return jar[COOKIE], written


@pytest.mark.parametrize("value", KEYS)
def test_a_key_buys_a_cookie(guest, value):
    response = guest.post("/api/auth/workspace-session", headers=key(value))
    assert (response.status_code, response.content) == (204, b"")
    cookie, written = set_cookie(response)
    assert cookie["path"] == "/api/conversations"
    assert cookie["httponly"] and cookie["samesite"].lower() == "none"
    assert int(cookie["max-age"]) >= 3600
    assert cookie["secure"] and "partitioned" in written.lower(), "for frames of other sites"
    guest.cookies.clear()


def test_the_cookie_of_a_key_opens_the_workspace_files(guest, conversation_id):
    cookie, _ = set_cookie(guest.post("/api/auth/workspace-session", headers=key()))
    guest.cookies.clear()
    response = guest.get(
        f"/api/conversations/{conversation_id}/workspace/page.html",
        headers={"Cookie": f"{COOKIE}={cookie.value}"},
    )
    assert response.status_code == 200
    assert response.text == "<h1>page</h1>"
    assert response.headers["content-type"].startswith("text/html")


def test_giving_the_cookie_back_makes_the_browser_drop_it(guest):
    bought, _ = set_cookie(guest.post("/api/auth/workspace-session", headers=key()))
    response = guest.delete("/api/auth/workspace-session", headers=key())
    assert response.status_code == 204
    cookie, _ = set_cookie(response)
    assert cookie["max-age"] == "0" and not cookie.value
    assert [cookie[name] for name in ("path", "samesite", "httponly")] == [
        bought[name] for name in ("path", "samesite", "httponly")
    ]
    guest.cookies.clear()


@pytest.mark.parametrize(
    "headers, opens",
    [
        pytest.param({}, False, id="nothing"),
        pytest.param(key(), True, id="key"),
        pytest.param(key("wrong"), False, id="wrong key"),
        pytest.param({"Cookie": f"{COOKIE}={KEYS[1]}"}, True, id="cookie"),
        pytest.param({"Cookie": f"{COOKIE}=wrong"}, False, id="wrong cookie"),
        pytest.param({"Cookie": f"{COOKIE}="}, False, id="empty cookie"),
        pytest.param({"Cookie": f"other={KEYS[0]}"}, False, id="cookie of another name"),
        pytest.param({"Cookie": f"{COOKIE}={KEYS[0]}", **key("wrong")}, True, id="cookie, wrong key"),
        pytest.param({"Cookie": f"{COOKIE}=wrong", **key()}, True, id="key, wrong cookie"),
    ],
)
@pytest.mark.parametrize("path", ["page.html", "missing.txt", "outside"])
def test_workspace_files_open_with_key_or_cookie(guest, conversation_id, headers, opens, path):
    """Without either, 401 for a file that is there and for one that is not."""
    url = f"/api/conversations/{conversation_id}/workspace/{path}"
    status = guest.get(url, headers=headers).status_code
    assert status == (({"page.html": 200, "missing.txt": 404, "outside": 400}[path]) if opens else 401)


@pytest.mark.parametrize(
    "method, path",
    [
        ("GET", "/api/conversations/{id}"),
        ("DELETE", "/api/conversations/{id}"),
        ("POST", "/api/conversations/{id}/run"),
        ("GET", "/api/conversations/{id}/events/search"),
        ("GET", "/api/conversations/search"),
        ("GET", "/api/file/download?path=/etc/hostname"),
        ("POST", "/api/auth/workspace-session"),
    ],
)
def test_the_cookie_opens_nothing_else(guest, conversation_id, method, path):
    """A browser sends it by itself, so anything it opened could be forged by another site."""
    response = guest.request(
        method, path.format(id=conversation_id), headers={"Cookie": f"{COOKIE}={KEYS[0]}"}
    )
    assert response.status_code == 401


@pytest.mark.parametrize(
    "path, status, content",
    [
        ("/page.html", 200, "<h1>page</h1>"),
        ("/with%20space.txt", 200, "spaced"),
        ("/site", 200, "<h1>index</h1>"),
        ("/site/", 200, "<h1>index</h1>"),
        ("/site/index.html", 200, "<h1>index</h1>"),
        ("/empty", 404, None),
        ("", 404, None),
        ("/missing.txt", 404, None),
        ("/page.html/more", 404, None),
        ("/%2e%2e/%2e%2e/etc/hostname", 400, None),
        ("/site/%2e%2e/%2e%2e/x", 400, None),
        ("/%2Fetc%2Fhostname", 400, None),
        ("/outside", 400, None),
    ],
)
def test_workspace_files_are_served_like_a_web_site(guest, conversation_id, path, status, content):
    response = guest.get(f"/api/conversations/{conversation_id}/workspace{path}", headers=key())
    assert response.status_code == status, response.text
    if content is None:
        assert response.json()["detail"]
    else:
        assert response.text == content


def test_part_of_a_workspace_file_can_be_had(guest, conversation_id):
    """Players of sound and film seek with ranges."""
    response = guest.get(
        f"/api/conversations/{conversation_id}/workspace/page.html", headers={**key(), "Range": "bytes=4-7"}
    )
    assert (response.status_code, response.text) == (206, "page")
    assert response.headers["content-range"] == "bytes 4-7/13"


@pytest.mark.parametrize("name, status", [(UNKNOWN, 404), ("not-an-id", 422)])
def test_workspace_files_of_no_conversation(guest, name, status):
    response = guest.get(f"/api/conversations/{name}/workspace/a.txt", headers=key())
    assert response.status_code == status and response.json()["detail"]


# --- other sites -------------------------------------------------------------------------------


def preflight(client, path, origin, method="POST"):
    return client.options(
        path,
        headers={
            "Origin": origin,
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": "x-session-api-key,content-type",
        },
    )


@pytest.mark.parametrize("origin", [APP, "https://two.example.com:8443", "http://localhost:3000"])
def test_a_configured_origin_is_allowed(guest, origin):
    for response in (
        preflight(guest, "/api/conversations", origin),
        guest.get("/health", headers={"Origin": origin}),
    ):
        assert response.status_code == 200, "a preflight carries no key"
        assert response.headers["access-control-allow-origin"] == origin
        assert response.headers["access-control-allow-credentials"] == "true"


@pytest.mark.parametrize(
    "origin",
    [
        "https://other.example.com",
        "http://app.example.com",
        "https://app.example.com:8443",
        "https://two.example.com",
        "https://app.example.com.evil.example",
        "null",
    ],
)
def test_an_origin_close_to_a_configured_one_is_not_allowed(guest, origin):
    response = preflight(guest, "/api/conversations", origin)
    assert response.status_code == 400
    assert "access-control-allow-origin" not in response.headers
    simple = guest.get("/health", headers={"Origin": origin})
    assert "access-control-allow-origin" not in simple.headers


def test_a_page_can_read_that_its_key_is_wrong(guest):
    """Without the header a browser would report a network failure instead of the 401."""
    response = guest.get("/api/conversations/count", headers={"Origin": APP, **key("wrong")})
    assert response.status_code == 401
    assert response.headers["access-control-allow-origin"] == APP


def test_any_site_may_embed_workspace_files_but_not_read_the_api(guest, conversation_id):
    site = {"Origin": "https://anywhere.example"}
    page = guest.get(
        f"/api/conversations/{conversation_id}/workspace/page.html",
        headers={**site, "Cookie": f"{COOKIE}={KEYS[0]}"},
    )
    assert page.status_code == 200
    assert page.headers["access-control-allow-origin"] == site["Origin"]
    assert page.headers["access-control-allow-credentials"] == "true"
    bought = guest.post("/api/auth/workspace-session", headers={**site, **key()})
    assert bought.status_code == 204
    assert bought.headers["access-control-allow-origin"] == site["Origin"]
    guest.cookies.clear()
    api = guest.get(f"/api/conversations/{conversation_id}", headers={**site, **key()})
    assert "access-control-allow-origin" not in api.headers
