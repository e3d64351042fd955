"""Secrets leave by no exit: a canary in every secret field, then a search of all that comes out.

To add a place for a secret, add a canary to ``fill``. To add an exit, add a step to ``everything``.
"""

import contextlib
import io
import json
import sqlite3
import zipfile
from pathlib import Path

import httpx
import psutil
import pytest

from tests.contract.conftest import ConversationDriver, plan, user_message, wait_until
from tests.contract.feed import Feed
from tests.support.receiver import Receiver
from tests.support.server import OwnServer

SESSION_KEY = "canary-session-key-77b1"
SECRET_KEY = "canary-installation-key-5c2e"
SCRAPE_TOKEN = "canary-scrape-token-18f3"
COLLECTOR_KEY = "canary-collector-key-2b6d"
WEBHOOK_KEY = "canary-webhook-header-90aa"
SIGNING_KEY = "canary-webhook-secret-17c3"
TOOL_SECRET = "canary-conversation-secret-41d0"
BROKEN = "canary-bad-body-"

NOT_OFFERED = {"/api/vscode/url"}
AGENT_SECRETS = ("llm", "condenser", "mcp-env", "mcp-header", "context")


def canary(name):
    return f"canary-{name}-3e8f"


@pytest.fixture(scope="module")
def receiver():
    """Where webhooks post to."""
    made = Receiver()
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(receiver, tmp_path_factory):
    made = OwnServer(
        tmp_path_factory.mktemp("canary"),
        OH_SESSION_API_KEYS_0=SESSION_KEY,
        OH_SECRET_KEY=SECRET_KEY,
        OH_WEBHOOKS_0_BASE_URL=receiver.url,
        OH_WEBHOOKS_0_FLUSH_DELAY="0.2",
        OH_WEBHOOKS_0_SECRET=SIGNING_KEY,
        OH_METRICS_TOKEN=SCRAPE_TOKEN,
        OH_OTEL_ENDPOINT="http://127.0.0.1:9",
        OH_OTEL_HEADERS=json.dumps({"x-api-key": COLLECTOR_KEY}),
        OH_WEBHOOKS_0_HEADERS=json.dumps({"X-Receiver": WEBHOOK_KEY}),
        LOG_LEVEL="DEBUG",
    )
    yield made.start().wait_ready()
    made.stop()


@pytest.fixture(scope="module")
def agent(llm_url):
    """An agent with a canary in each of its secret fields."""
    llm = {"model": "openai/fake-model", "base_url": f"{llm_url}/v1", "num_retries": 0, "usage_id": "agent"}
    return {
        "kind": "Agent",
        "llm": {**llm, "api_key": canary("llm")},
        "condenser": {
            "kind": "LLMSummarizingCondenser",
            "llm": {**llm, "usage_id": "condenser", "api_key": canary("condenser")},
        },
        "mcp_config": {
            "local": {"command": "false", "env": {"TOKEN": canary("mcp-env")}},
            "remote": {"url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": canary("mcp-header")}},
        },
        "agent_context": {"secrets": {"CONTEXT": canary("context")}},
        "tools": [{"name": "terminal", "params": {}}],
        "include_default_tools": ["FinishTool", "ThinkTool"],
    }


@pytest.fixture(scope="module")
def conversation(server, agent, fill, tmp_path_factory):
    """A conversation that has run: it printed its secret and the environment of its shell."""
    agent = {name: value for name, value in agent.items() if name != "mcp_config"}  # its servers do not exist
    response = server.http.post(
        "/api/conversations",
        json={
            "agent": agent,
            "workspace": {"kind": "LocalWorkspace", "working_dir": str(tmp_path_factory.mktemp("work"))},
            "secrets": {"TOOL_SECRET": {"kind": "StaticSecret", "value": TOOL_SECRET}},
            "initial_message": user_message(
                plan(
                    {
                        "tool": "terminal",
                        "args": {"command": "echo $TOOL_SECRET; env; cat /proc/self/environ"},
                    },
                    {"tool": "terminal", "args": {"command": "cat /proc/$PPID/environ /proc/*/cmdline"}},
                    {"tool": "finish", "args": {"message": "done"}},
                ),
                True,
            ),
        },
    )
    assert response.status_code == 201, response.text
    path = f"/api/conversations/{response.json()['id']}"
    wait_until(
        lambda: server.http.get(path).json()["execution_status"] in ("finished", "error"),
        timeout=60,
        message="the end of the run",
    )
    assert server.http.get(path).json()["execution_status"] == "finished"
    return path


@pytest.fixture(scope="module")
def fill(server, agent):
    """Canaries in settings, profiles, secrets and connections; returns all that were put anywhere."""
    http, llm = server.http, agent["llm"]
    put = [
        http.patch(
            "/api/settings",
            json={
                "agent_settings_diff": {
                    "llm": {**llm, "api_key": canary("settings-llm")},
                    "agent_context": {"secrets": {"A": canary("settings-context")}},
                    "mcp_config": {
                        "local": {"command": "false", "env": {"T": canary("settings-mcp-env")}},
                        "remote": {
                            "url": "http://127.0.0.1:9/mcp",
                            "headers": {"X": canary("settings-header")},
                        },
                    },
                }
            },
        ),
        http.put("/api/settings/secrets", json={"name": "NAMED", "value": canary("named")}),
        http.post("/api/profiles/one", json={"llm": {**llm, "api_key": canary("profile")}}),
        http.post(
            "/api/llm/provider-connections",
            json={"display_name": "Shared", "provider": "openai", "api_key": canary("connection")},
        ),
        http.post(
            "/api/webhooks",
            json={
                "base_url": "https://hooks.invalid",
                "headers": {"X-Key": canary("hook-header")},
                "secret": canary("hook-secret"),
            },
        ),
    ]
    assert {response.status_code for response in put} <= {200, 201}, [r.text for r in put]
    names = ("settings-llm", "settings-context", "settings-mcp-env", "settings-header", "named", "profile")
    made = {canary(name) for name in (*AGENT_SECRETS, *names, "connection", "hook-header", "hook-secret")}
    return made | {
        SESSION_KEY,
        SECRET_KEY,
        SCRAPE_TOKEN,
        COLLECTOR_KEY,
        WEBHOOK_KEY,
        SIGNING_KEY,
        TOOL_SECRET,
    }


def bodies(agent, conversation):
    """Bad bodies for routes that take secrets; each is refused and none may be repeated."""
    bad = BROKEN + "1a2b"
    llm = {**agent["llm"], "api_key": bad}
    return [
        (
            "POST",
            "/api/conversations",
            {"agent": {**agent, "llm": {**llm, "timeout": bad}}, "workspace": bad},
        ),
        ("POST", "/api/conversations", {"agent": bad, "workspace": {"kind": bad}}),
        ("POST", "/api/conversations", {"secrets": {"A": {"kind": bad, "value": bad}}}),
        ("POST", f"{conversation}/secrets", {"secrets": {"A": {"kind": bad, "value": bad}}}),
        ("POST", f"{conversation}/switch_llm", {"llm": {**llm, "timeout": bad}}),
        ("POST", f"{conversation}/events", {"role": bad, "content": bad}),
        ("PATCH", "/api/settings", {"agent_settings_diff": {"llm": {**llm, "timeout": bad}}}),
        ("PUT", "/api/settings/secrets", {"name": {"not": bad}, "value": bad}),
        ("POST", "/api/profiles/two", {"llm": {**llm, "timeout": bad}}),
        ("POST", "/api/mcp/test", {"server": {"command": ["x", bad], "env": bad}}),
        ("POST", "/api/cloud-proxy", {"host": bad, "path": bad, "headers": {"Authorization": bad}}),
        ("POST", "/api/init", {"secret_key": bad}),
        ("POST", "/api/bash/execute_bash_command", {"command": {"secret": bad}}),
        ("POST", "/api/webhooks", {"base_url": bad, "secret": {"not": bad}, "headers": {"X": bad + "\n"}}),
    ]


def routes(http):
    """Every GET that needs no more than the address: found in the server's own document."""
    for path, item in http.get("/openapi.json").json()["paths"].items():
        parameters = item.get("get", {}).get("parameters", [])
        if "get" in item and "{" not in path and not any(p["required"] for p in parameters):
            yield path


@pytest.fixture(scope="module")
def everything(server, receiver, agent, conversation, fill):
    """All that came out, by where: text or bytes."""
    http = server.http
    came = {f"GET {path}": http.get(path).content for path in routes(http)}
    for path in ("", "/events/search", "/agent_final_response", "?include_skills=true"):
        came[f"conversation{path}"] = http.get(conversation + path).content
    came["a conversation with MCP servers"] = _unused(server, agent)
    for number, (method, path, body) in enumerate(bodies(agent, conversation)):
        answer = http.request(method, path, json=body)
        assert 400 <= answer.status_code < 500, (method, path, answer.status_code, answer.text[:300])
        came[f"refusal {number} {path}"] = answer.content
    broken = http.post("/api/conversations", content=f'{{"key": "{BROKEN}9f", '.encode())
    came["refusal of what is no JSON"] = broken.content
    came["frames"] = _frames(server, conversation)
    came["webhooks"] = _posted(http, receiver, conversation)
    came["exported"] = _exported(http, conversation)
    came["environment of a command"] = _environment(http)
    came["argv"] = _argv(server)
    came["log"] = server.log.read_bytes()
    came["data directory"] = _stored(server)
    return came


def _unused(server, agent):
    """A conversation that is stored with all secrets there are, and not run: its servers do not exist."""
    http, folder = server.http, str(server.root / "unused")
    workspace = {"kind": "LocalWorkspace", "working_dir": folder}
    made = http.post("/api/conversations", json={"agent": agent, "workspace": workspace})
    assert made.status_code == 201, made.text[:300]
    return made.content + http.get(f"/api/conversations/{made.json()['id']}").content


def _frames(server, conversation):
    """What a socket sends to who looks at the whole conversation, and a key in its address."""
    identifier = conversation.rpartition("/")[2]
    path = f"/sockets/events/{identifier}?resend_mode=all&session_api_key={SESSION_KEY}"
    with contextlib.closing(Feed(server.url.replace("http", "ws", 1) + path)) as feed:
        feed.send(BROKEN + "frame")
        feed.wait(lambda frame: frame.get("kind") == "ServerErrorEvent")
        return json.dumps(feed.frames).encode()


def _posted(http, receiver, conversation):
    """The bodies of all posts, once every event of the conversation has come."""
    log = http.get(f"{conversation}/events/search").json()["items"]
    of = ConversationDriver(http, http.get(conversation).json())
    receiver.wait_events(of, log)
    assert receiver.infos(of)
    return b"\n".join(post.raw for post in list(receiver.posts))


def _exported(http, conversation):
    answer = http.get(f"/api/file/download-trajectory/{conversation.rpartition('/')[2]}")
    assert answer.status_code == 200, answer.text[:300]
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return b"\n".join(archive.read(name) for name in archive.namelist())


def _environment(http):
    command = "env; cat /proc/self/environ /proc/$PPID/environ 2>/dev/null; true"
    answer = http.post("/api/bash/execute_bash_command", json={"command": command})
    assert answer.json()["exit_code"] == 0
    return answer.content


def _argv(server):
    top = psutil.Process(server.process.pid)
    return "\n".join(" ".join(p.cmdline()) for p in [top, *top.children(recursive=True)]).encode()


def _stored(server):
    """Every file the server keeps, the write-ahead log included, but the key that opens them."""
    database = next(Path(server.environment()["OH_PERSISTENCE_DIR"]).glob("*.sqlite3"))
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(FULL)")
    files = [file for file in server.root.rglob("*") if file.is_file() and file != server.log]
    return b"\n".join(file.read_bytes() for file in files)


def test_no_canary_leaves_by_any_exit(everything, fill):
    canaries = {*fill, BROKEN}
    found = {
        (exit_, secret)
        for exit_, content in everything.items()
        for secret in canaries
        if secret.encode() in content
    }
    assert found == set()


def test_the_exits_were_not_empty(everything):
    """What is searched has to hold what it would hold: else the test above proves nothing."""
    for exit_, content in everything.items():
        assert content, exit_
    assert b"ObservationEvent" in everything["frames"]
    assert b"ActionEvent" in everything["exported"]
    assert b"ObservationEvent" in everything["webhooks"]
    assert b"full_state" in everything["webhooks"]
    assert b"PATH=" in everything["environment of a command"]


def test_the_secrets_worked_all_the_same(server, conversation, llm_url, everything):
    """They are hidden, not lost: the model got its key, and each can be had by who asks for it."""
    requests = httpx.get(f"{llm_url}/requests", params={"contains": "TOOL_SECRET"}).json()
    assert canary("llm") in json.dumps([request["authorization"] for request in requests])
    assert server.http.get("/api/settings/secrets/NAMED").text == canary("named")


def test_under_another_key_everything_can_be_read_and_nothing_is_sent(server, conversation, everything):
    server.stop()
    server.start(OH_SECRET_KEY="another-key-entirely").wait_ready()
    answers = {
        path: server.http.get(path)
        for path in [*routes(server.http), conversation, f"{conversation}/events/search"]
    }

    failed = {path: answer.status_code for path, answer in answers.items() if answer.status_code >= 400}
    # What is not offered here says so with 503; everything else can be read.
    offered = {path: status for path, status in failed.items() if path not in NOT_OFFERED}
    assert set(offered.values()) <= {404, 422}, offered
    assert server.http.get("/api/settings").json()["agent_settings"]["llm"]["api_key"] is None
    assert all("gAAAA" not in answer.text for answer in answers.values())


def test_under_another_key_no_provider_sees_cipher_text_and_a_new_key_heals(
    server, agent, conversation, llm_url, everything
):
    """Comes after the test above, on the server that it restarted under another key."""
    server.http.post(f"{conversation}/run")
    wait_until(
        lambda: server.http.get(conversation).json()["execution_status"] != "running",
        timeout=60,
        message="the end of the run without a key",
    )
    fresh = {**agent["llm"], "api_key": "sk-entered-again"}
    assert server.http.post(f"{conversation}/switch_llm", json={"llm": fresh}).status_code == 200
    message = user_message(plan({"tool": "finish", "args": {"message": "healed"}}), True)
    server.http.post(f"{conversation}/events", json=message)
    wait_until(
        lambda: server.http.get(f"{conversation}/agent_final_response").json()["response"] == "healed",
        timeout=60,
        message="the answer with the new key",
    )

    requests = httpx.get(f"{llm_url}/requests", params={"contains": "TOOL_SECRET"}).json()
    shown = [str(request["authorization"]) for request in requests]
    assert shown[-1] == "Bearer sk-entered-again"
    assert not any("gAAAA" in key or "*" in key for key in shown), shown
