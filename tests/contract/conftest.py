"""Black-box fixtures: every test talks to a running agent server over HTTP and WebSocket only.

Environment
    AGENT_SERVER_URL      base URL of the server under test; one of this project is started when unset
    AGENT_SERVER_API_KEY  session API key, if that server asks for one
    FAKE_LLM_URL          a running fakellm.py; one is started on a free port when unset
    CONFORMANCE_TARGET    "reference" when running against openhands-agent-server itself:
                          tests marked ``beyond`` (things it does not do) are then skipped
"""

import contextlib
import json
import os
import time
import uuid

import httpx
import pytest
from websockets.sync.client import connect as ws_connect

from tests.support.waiting import free_port, wait_until  # noqa: F401  (for the tests)

API_KEY = os.environ.get("AGENT_SERVER_API_KEY")
IS_REFERENCE = os.environ.get("CONFORMANCE_TARGET") == "reference"
TERMINAL = {"finished", "error", "stuck"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if IS_REFERENCE:
        skip = pytest.mark.skip(reason="beyond the reference server")
        for item in items:
            if item.get_closest_marker("beyond"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def base_url(agent_server):
    return agent_server.url


@pytest.fixture(scope="session")
def auth_headers(agent_server):
    return agent_server.headers


@pytest.fixture(scope="session")
def http(base_url, auth_headers):
    with httpx.Client(base_url=base_url, headers=auth_headers, timeout=60) as client:
        yield client


@pytest.fixture
def llm_stats(llm_url):
    """Callable returning the fake LLM's counters."""
    return lambda: httpx.get(f"{llm_url}/stats").json()


@pytest.fixture(scope="session")
def llm_config(llm_url):
    """An SDK ``LLM`` as JSON, pointed at the fake LLM."""
    return {
        "usage_id": "conformance",
        "model": "openai/fake-model",
        "base_url": f"{llm_url}/v1",
        "api_key": "sk-fake-secret-do-not-leak",
        "num_retries": 0,
    }


@pytest.fixture(scope="session")
def agent_config(llm_config):
    """An SDK ``Agent`` as JSON with the terminal and file-editor tools."""
    return {
        "kind": "Agent",
        "llm": llm_config,
        "tools": [{"name": "terminal", "params": {}}, {"name": "file_editor", "params": {}}],
        "include_default_tools": ["FinishTool", "ThinkTool"],
    }


def plan(*steps, **options):
    """The text of a user message that scripts the fake LLM."""
    return "PLAN " + json.dumps({"steps": list(steps), **options})


def user_message(text, run=None):
    body = {"role": "user", "content": [{"type": "text", "text": text}]}
    if run is not None:
        body["run"] = run
    return body


class ConversationDriver:
    """A conversation under test, with the few calls nearly every test makes."""

    def __init__(self, http, info):
        self.http, self.info, self.id = http, info, info["id"]
        self.path = f"/api/conversations/{self.id}"

    def get(self):
        response = self.http.get(self.path)
        response.raise_for_status()
        return response.json()

    @property
    def status(self):
        return self.get()["execution_status"]

    def wait_status(self, *wanted, timeout=20.0):
        return wait_until(lambda: (s := self.status) in wanted and s, timeout, message=f"status in {wanted}")

    def send(self, text, run=True):
        response = self.http.post(f"{self.path}/events", json=user_message(text, run))
        response.raise_for_status()
        return response

    def action(self, name, body=None):
        return self.http.post(f"{self.path}/{name}", json=body if body is not None else {})

    def events(self, **params):
        """Every event, oldest first, following the pages."""
        items, page_id = [], None
        while True:
            query = {"limit": 100, **params, **({"page_id": page_id} if page_id else {})}
            response = self.http.get(f"{self.path}/events/search", params=query)
            response.raise_for_status()
            page = response.json()
            items += page["items"]
            page_id = page.get("next_page_id")
            if not page_id:
                return items

    def kinds(self):
        return [event["kind"] for event in self.events()]


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path / "workspace"
    path.mkdir()
    return path


@pytest.fixture
def start(http, agent_config, workspace):
    """Callable that starts a conversation and deletes it when the test ends."""
    started = []

    def _start(text=None, run=True, **overrides):
        body = {
            "agent": agent_config,
            "workspace": {"kind": "LocalWorkspace", "working_dir": str(workspace)},
            **overrides,
        }
        if text is not None:
            body["initial_message"] = user_message(text, run)
        response = http.post("/api/conversations", json=body)
        assert response.status_code in (200, 201), response.text
        driver = ConversationDriver(http, response.json())
        started.append(driver)
        return driver

    yield _start
    for driver in started:
        with contextlib.suppress(httpx.HTTPError):
            http.delete(driver.path)


@pytest.fixture
def open_ws(base_url, auth_headers):
    """Callable that opens a WebSocket on a server path and closes it when the test ends."""
    with contextlib.ExitStack() as stack:

        def _open(path, headers=auth_headers, **kwargs):
            url = base_url.replace("http", "ws", 1) + path
            return stack.enter_context(ws_connect(url, additional_headers=headers, max_size=None, **kwargs))

        yield _open


def receive_until(ws, done, timeout=20.0):
    """Collect JSON frames until ``done(frame)``; return all of them."""
    frames, deadline = [], time.monotonic() + timeout
    while True:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise AssertionError(
                f"no matching frame in {timeout} s; got kinds {[f.get('kind') or f.get('type') for f in frames]}"
            )
        frame = json.loads(ws.recv(timeout=remaining))
        frames.append(frame)
        if done(frame):
            return frames


def new_id():
    return str(uuid.uuid4())


from tests.contract.feed import listen  # noqa: E402,F401  (fixture)
from tests.contract.ownserver import own_server, secured_server  # noqa: E402,F401  (fixtures)
