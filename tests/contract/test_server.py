"""The server itself: health, information, OpenAPI, errors, other sites (CORS), static files."""

import re
import time

import httpx
import pytest

from tests.contract.conftest import plan, wait_until

UNKNOWN = "00000000-0000-0000-0000-000000000001"
LOCAL_ORIGINS = [
    "http://localhost:3000",
    "http://localhost",
    "https://localhost:8443",
    "http://127.0.0.1:5173",
    "http://127.0.0.1",
]
FOREIGN_ORIGINS = [
    "https://example.com",
    "http://localhost.example.com",
    "http://127.0.0.1.example.com",
    "https://example.com:3000/localhost",
    "null",
]

# Client libraries are generated from, or checked against, these.
OPERATIONS = """
    GET /alive
    GET /health
    GET /ready
    GET /server_info
    POST /api/conversations
    GET /api/conversations
    GET /api/conversations/search
    GET /api/conversations/count
    GET /api/conversations/{conversation_id}
    PATCH /api/conversations/{conversation_id}
    DELETE /api/conversations/{conversation_id}
    POST /api/conversations/{conversation_id}/run
    POST /api/conversations/{conversation_id}/pause
    POST /api/conversations/{conversation_id}/interrupt
    POST /api/conversations/{conversation_id}/secrets
    POST /api/conversations/{conversation_id}/confirmation_policy
    POST /api/conversations/{conversation_id}/security_analyzer
    POST /api/conversations/{conversation_id}/ask_agent
    POST /api/conversations/{conversation_id}/condense
    POST /api/conversations/{conversation_id}/fork
    GET /api/conversations/{conversation_id}/agent_final_response
    POST /api/conversations/{conversation_id}/events
    GET /api/conversations/{conversation_id}/events
    GET /api/conversations/{conversation_id}/events/search
    GET /api/conversations/{conversation_id}/events/count
    GET /api/conversations/{conversation_id}/events/{event_id}
    POST /api/conversations/{conversation_id}/events/respond_to_confirmation
    GET /api/conversations/{conversation_id}/workspace
    GET /api/conversations/{conversation_id}/workspace/{file_path}
    POST /api/auth/workspace-session
    DELETE /api/auth/workspace-session
    POST /api/bash/execute_bash_command
    POST /api/bash/start_bash_command
    GET /api/bash/bash_events/search
    GET /api/bash/bash_events/{event_id}
    DELETE /api/bash/bash_events
    POST /api/file/upload
    GET /api/file/download
    GET /api/git/changes
    GET /api/git/diff
    GET /api/tools/
    POST /api/skills
    GET /api/settings
    PATCH /api/settings
    GET /api/llm/models
    GET /api/llm/providers
    GET /api/profiles
    POST /api/mcp/test
    GET /api/vscode/url
""".split("\n")[1:-1]


@pytest.fixture(scope="module")
def openapi(http):
    response = http.get("/openapi.json")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("application/json")
    return response.json()


# --- health and information --------------------------------------------------------------------


@pytest.mark.parametrize("path, status", [("/alive", "ok"), ("/health", "ok"), ("/ready", "ready")])
def test_the_server_says_that_it_is_well(http, path, status):
    response = http.get(path)
    assert (response.status_code, response.json()) == (200, {"status": status})


@pytest.mark.parametrize("path", ["/server_info", "/"])
def test_server_info_tells_what_is_running(http, path):
    info = http.get(path).json()
    for name in (
        "title",
        "version",
        "sdk_version",
        "tools_version",
        "workspace_version",
        "python_version",
        "build_git_sha",
        "build_git_ref",
    ):
        assert info[name] and isinstance(info[name], str), name
    assert re.match(r"\d+\.\d+", info["version"]) and re.match(r"\d+\.\d+", info["sdk_version"])
    assert {"terminal", "file_editor", "task_tracker"} <= set(info["usable_tools"])
    assert len(set(info["usable_tools"])) == len(info["usable_tools"])
    for name in ("uptime", "idle_time"):
        assert isinstance(info[name], int | float) and info[name] >= 0
    assert info["idle_time"] <= info["uptime"] + 1
    assert {"runtime_idle_timeout_seconds", "max_foreground_terminal_timeout_seconds"} <= set(info)


def test_the_addresses_of_the_documentation_work(http):
    info = http.get("/server_info").json()
    for name in ("docs", "redoc"):
        page = http.get(info[name])
        assert page.status_code == 200
        assert page.headers["content-type"].startswith("text/html")
        assert "openapi.json" in page.text


def test_uptime_grows_with_time(http):
    before, begin = http.get("/server_info").json()["uptime"], time.monotonic()
    wait_until(lambda: http.get("/server_info").json()["uptime"] > before, timeout=3)
    assert http.get("/server_info").json()["uptime"] - before <= time.monotonic() - begin + 1


@pytest.mark.parametrize("use", ["bash", "conversation"])
def test_idle_time_starts_again_when_the_server_is_used(http, start, use):
    wait_until(
        lambda: http.get("/server_info").json()["idle_time"] >= 2, timeout=10, message="an idle moment"
    )
    if use == "bash":
        http.post("/api/bash/execute_bash_command", json={"command": "true"})
    else:
        start(plan({"tool": "finish", "args": {"message": "ok"}})).wait_status("finished")
    assert http.get("/server_info").json()["idle_time"] < 2


def test_asking_for_information_does_not_count_as_use(http):
    def ask():
        for path in ("/alive", "/health", "/ready", "/openapi.json"):
            http.get(path)
        return http.get("/server_info").json()["idle_time"]

    wait_until(lambda: ask() >= 2, timeout=10)


def test_health_is_answered_at_once_while_an_agent_works(http, start, llm_stats):
    busy = [
        start(plan({"tool": "terminal", "args": {"command": "sleep 3"}})),
        start(plan({"say": "slow", "delay": 3})),
    ]
    wait_until(lambda: llm_stats()["in_flight"] > 0, message="a call of the model")
    for _ in range(10):
        for path in ("/health", "/ready", "/server_info"):
            begin = time.monotonic()
            assert http.get(path).status_code == 200
            assert time.monotonic() - begin < 1.5
    assert {conversation.status for conversation in busy} == {"running"}


# --- OpenAPI -----------------------------------------------------------------------------------


def test_the_openapi_document_names_the_server(openapi, http):
    assert openapi["openapi"].startswith("3.")
    assert openapi["info"]["title"] == http.get("/server_info").json()["title"]
    assert openapi["info"]["version"]


@pytest.mark.parametrize("operation", [line.strip() for line in OPERATIONS])
def test_the_openapi_document_has_the_operation(openapi, operation):
    method, path = operation.split()

    def shape(name):
        return re.sub(r"\{[^}]*\}", "{}", name)

    found = {(verb.upper(), shape(name)) for name, item in openapi["paths"].items() for verb in item}
    assert (method, shape(path)) in found


def test_every_operation_has_an_answer_and_an_id_of_its_own(openapi):
    operations = [
        operation
        for item in openapi["paths"].values()
        for verb, operation in item.items()
        if verb != "parameters"
    ]
    assert all(operation["responses"] for operation in operations)
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)


def test_every_path_parameter_is_declared(openapi):
    for path, item in openapi["paths"].items():
        for verb, operation in item.items():
            if verb == "parameters":
                continue
            declared = {
                p["name"]
                for p in [*item.get("parameters", []), *operation.get("parameters", [])]
                if p["in"] == "path"
            }
            assert declared == set(re.findall(r"\{([^}]*)\}", path)), (verb, path)


def references(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def test_every_reference_in_the_openapi_document_leads_somewhere(openapi):
    found = set(references(openapi))
    assert len(found) > 50
    for reference in found:
        node = openapi
        for part in reference.removeprefix("#/").split("/"):
            node = node[part.replace("~1", "/").replace("~0", "~")]


@pytest.mark.parametrize(
    "method, path, schema",
    [
        ("post", "/api/conversations", "body"),
        ("post", "/api/bash/execute_bash_command", "body"),
        ("get", "/api/conversations/{conversation_id}", "answer"),
        ("get", "/api/git/changes", "answer"),
    ],
)
def test_the_openapi_document_describes_bodies_and_answers(openapi, method, path, schema):
    operation = openapi["paths"][path][method]
    content = operation["requestBody" if schema == "body" else "responses"]
    content = content["content"] if schema == "body" else content["200"]["content"]
    assert content["application/json"]["schema"]


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/nothing", "/api/nothing", "/api/conversations/x/y/z/nothing", "/sockets/bash-events"]
)
def test_an_unknown_path_is_404_in_json(http, path):
    response = http.get(path)
    assert response.status_code == 404 and response.json()["detail"]


@pytest.mark.parametrize(
    "method, path, allowed",
    [
        ("POST", "/health", "GET"),
        ("PUT", "/api/conversations/count", "GET"),
        ("GET", "/api/bash/execute_bash_command", "POST"),
    ],
)
def test_a_wrong_method_is_405_and_tells_the_right_one(http, method, path, allowed):
    response = http.request(method, path)
    assert response.status_code == 405 and response.json()["detail"]
    assert allowed in response.headers["allow"]


@pytest.fixture
def client(base_url, auth_headers):
    """A client of the test's own: the reference breaks connections off after a failure."""
    with httpx.Client(base_url=base_url, headers=auth_headers, timeout=60) as client:
        yield client


@pytest.mark.parametrize(
    "body, content_type",
    [
        (b"{", "application/json"),
        (b"", "application/json"),
        (b"[]", "application/json"),
        (b"null", "application/json"),
        (b'{"agent": 1}', "application/json; charset=utf-8"),
        # The reference fails inside (500) while it builds the answer to a body that is not JSON.
        pytest.param(b"agent=1", "application/x-www-form-urlencoded", marks=pytest.mark.beyond),
        pytest.param(b"{}", "text/plain", marks=pytest.mark.beyond),
    ],
)
def test_a_body_that_cannot_be_read_is_422(client, body, content_type):
    response = client.post("/api/conversations", content=body, headers={"Content-Type": content_type})
    assert response.status_code == 422
    details = response.json()["detail"]
    assert details and all({"type", "loc", "msg"} <= set(detail) for detail in details)


def test_a_body_that_is_no_text_is_refused(client):
    response = client.post(
        "/api/conversations", content=b"\xff\xfe", headers={"Content-Type": "application/json"}
    )
    assert response.status_code in (400, 422) and response.json()["detail"]


def test_a_refused_body_does_not_come_back_with_its_secrets(http, agent_config):
    agent = {**agent_config, "llm": {**agent_config["llm"], "timeout": "not a number"}}
    response = http.post("/api/conversations", json={"agent": agent, "workspace": 7})
    assert response.status_code == 422
    assert agent_config["llm"]["api_key"] not in response.text


@pytest.fixture
def failing(start, client):
    """Callable that gets an answer of status 5xx: the model that is asked is broken."""

    def _fail(**options):
        return client.post(
            f"{start().path}/ask_agent", **options, json={"question": plan({"status": 500, "say": "broken"})}
        )

    return _fail


def test_a_failure_inside_is_answered_in_json(failing, agent_config):
    response = failing()
    assert 500 <= response.status_code < 600
    assert response.json()["detail"]
    assert agent_config["llm"]["api_key"] not in response.text


@pytest.mark.beyond  # the reference answers such failures outside its CORS layer
def test_a_page_can_read_a_failure(failing):
    response = failing(headers={"Origin": LOCAL_ORIGINS[0]})
    assert response.status_code >= 500
    assert response.headers["access-control-allow-origin"] == LOCAL_ORIGINS[0]


@pytest.mark.beyond  # the reference breaks the connection off after a failure
def test_the_connection_can_be_used_after_a_failure(failing, client):
    for _ in range(3):
        assert failing().status_code >= 500
        assert client.get("/health").status_code == 200


# --- other sites -------------------------------------------------------------------------------


def preflight(http, path, origin, method="POST", headers="x-session-api-key,content-type"):
    return http.options(
        path,
        headers={
            "Origin": origin,
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": headers,
        },
    )


@pytest.mark.parametrize("origin", LOCAL_ORIGINS)
def test_pages_of_this_machine_may_use_the_api(http, origin):
    response = http.get("/api/conversations/count", headers={"Origin": origin})
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == origin
    assert response.headers["access-control-allow-credentials"] == "true"
    assert "origin" in response.headers["vary"].lower(), "caches must keep the answers apart"


@pytest.mark.parametrize("origin", LOCAL_ORIGINS)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_pages_of_this_machine_may_ask_first(http, origin, method):
    response = preflight(http, "/api/conversations", origin, method)
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == origin
    assert response.headers["access-control-allow-credentials"] == "true"
    assert method in response.headers["access-control-allow-methods"]
    allowed = response.headers["access-control-allow-headers"].lower()
    assert "x-session-api-key" in allowed and "content-type" in allowed
    assert int(response.headers["access-control-max-age"]) > 0


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_pages_of_other_sites_may_not_use_the_api(http, origin):
    simple = http.get("/api/conversations/count", headers={"Origin": origin})
    asked = preflight(http, "/api/conversations", origin)
    assert asked.status_code == 400
    for response in (simple, asked):
        assert "access-control-allow-origin" not in response.headers


def test_without_an_origin_nothing_is_said_about_origins(http):
    assert "access-control-allow-origin" not in http.get("/health").headers


@pytest.mark.parametrize(
    "method, path, status",
    [
        ("GET", "/api/nothing", 404),
        ("GET", f"/api/conversations/{UNKNOWN}", 404),
        ("POST", "/api/conversations", 422),
        ("PUT", "/health", 405),
    ],
)
def test_a_page_can_read_error_answers(http, method, path, status):
    response = http.request(method, path, headers={"Origin": LOCAL_ORIGINS[0]})
    assert response.status_code == status
    assert response.headers["access-control-allow-origin"] == LOCAL_ORIGINS[0]


@pytest.mark.parametrize(
    "path",
    [
        "/api/auth/workspace-session",
        f"/api/conversations/{UNKNOWN}/workspace",
        f"/api/conversations/{UNKNOWN}/workspace/a/b.html",
    ],
)
def test_any_site_may_embed_workspace_files(http, path):
    """The browser shows them with a cookie, so the very origin is named, never ``*``."""
    origin = "https://anywhere.example"
    asked = preflight(http, path, origin, "GET")
    assert asked.status_code == 200
    for response in (asked, http.get(path, headers={"Origin": origin})):
        assert response.headers["access-control-allow-origin"] == origin
        assert response.headers["access-control-allow-credentials"] == "true"


@pytest.mark.parametrize(
    "path, origin",
    [
        ("/api/auth/workspace-session", "null"),
        (f"/api/conversations/{UNKNOWN}/workspace/a.html", "null"),
        (f"/api/conversations/{UNKNOWN}/workspaces/a.html", "https://anywhere.example"),
        (f"/api/conversations/{UNKNOWN}", "https://anywhere.example"),
        ("/api/auth/workspace-session/more", "https://anywhere.example"),
        ("/api/workspaces", "https://anywhere.example"),
    ],
)
def test_the_door_for_workspace_files_is_no_wider_than_needed(http, path, origin):
    assert preflight(http, path, origin, "GET").status_code == 400
    response = http.get(path, headers={"Origin": origin})
    assert "access-control-allow-origin" not in response.headers


# --- static files ------------------------------------------------------------------------------


def test_static_files_are_served_when_there_is_a_folder_of_them(own_server, tmp_path):
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<h1>hello</h1>")
    (folder / "assets" / "app.js").write_text("let x = 1")
    (tmp_path / "secret.txt").write_text("outside")
    http = own_server(OH_STATIC_FILES_PATH=str(folder)).http
    root = http.get("/")
    assert (root.status_code, root.headers["location"]) == (302, "/static/index.html")
    assert http.get("/static/index.html").text == "<h1>hello</h1>"
    script = http.get("/static/assets/app.js")
    assert script.status_code == 200 and "javascript" in script.headers["content-type"]
    for path in ("missing", "%2e%2e/secret.txt", "..%2fsecret.txt", "assets"):
        assert http.get(f"/static/{path}").status_code == 404, path
    assert http.get("/server_info").json()["title"]
    assert http.get("/api/conversations/count").status_code == 200
