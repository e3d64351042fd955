"""Small drivers shared by the tests of bash, files, git, settings and the catalogues."""

import contextlib
import os
import signal
import subprocess
import sys
import uuid

from tests.contract.conftest import wait_until

MIB = 1024 * 1024


def unique(prefix="conf"):
    return f"{prefix}-{uuid.uuid4().hex[:10]}"


def write(path, text):
    """Write ``text``, with the directories above it; return ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def alive(pid):
    """True while the process runs (a zombie nobody has reaped does not count)."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_gone(*pids, timeout=10.0):
    """Wait for the end of processes; kill those that stay, so that no test leaves any."""
    try:
        wait_until(lambda: not any(map(alive, pids)), timeout, message=f"end of {pids}")
    finally:
        for pid in filter(alive, pids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def read_pids(path, count=1, timeout=10.0):
    """The process ids a command has written to ``path``, one a line."""

    def ready():
        lines = path.read_text().split() if path.exists() else []
        return [int(line) for line in lines] if len(lines) >= count else None

    return wait_until(ready, timeout, message=f"{count} pids in {path}")


class Bash:
    """The bash endpoints under ``prefix``."""

    def __init__(self, http, prefix="/api/bash"):
        self.http, self.prefix = http, prefix

    def post(self, name, **body):
        return self.http.post(f"{self.prefix}/{name}", json=body)

    def execute(self, command, **options):
        response = self.post("execute_bash_command", command=command, **options)
        assert response.status_code == 200, response.text
        return response.json()

    def start(self, command, **options):
        response = self.post("start_bash_command", command=command, **options)
        assert response.status_code == 200, response.text
        return response.json()

    def stop(self, command_id):
        return self.post(f"bash_commands/{command_id}/stop")

    def get(self, event_id):
        return self.http.get(f"{self.prefix}/bash_events/{event_id}")

    def page(self, **params):
        response = self.http.get(f"{self.prefix}/bash_events/search", params=params)
        assert response.status_code == 200, response.text
        return response.json()

    def events(self, **params):
        """Every matching event, following the pages."""
        items, page_id, seen = [], None, set()
        while True:
            page = self.page(**params, **({"page_id": page_id} if page_id else {}))
            items += page["items"]
            page_id = page["next_page_id"]
            if not page_id:
                return items
            assert page_id not in seen, "the pages go round in circles"
            seen.add(page_id)

    def outputs(self, command_id):
        return self.events(command_id__eq=command_id, kind__eq="BashOutput")

    def finished(self, command_id):
        """The outputs of a command if it has ended, else None."""
        outputs = self.outputs(command_id)
        if any(output["exit_code"] is not None for output in outputs):
            return outputs

    def wait(self, command_id, timeout=20.0):
        return wait_until(lambda: self.finished(command_id), timeout, message=f"end of command {command_id}")


class Repo:
    """A git repository on disk."""

    def __init__(self, path, branch="main"):
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", branch)

    def git(self, *args):
        config = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", *config, *args],
            cwd=self.path,
            capture_output=True,
            text=True,
            check=True,
            env=clean_git_environment(),
        )
        return done.stdout.rstrip()

    def write(self, name, content="content\n"):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def commit(self, message="a commit", **files):
        """Write ``files`` (name: content), commit everything, return the full hash."""
        for name, content in files.items():
            self.write(name, content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


def clean_git_environment():
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


REDACTED = "**********"
PLAINTEXT, ENCRYPTED = {"X-Expose-Secrets": "plaintext"}, {"X-Expose-Secrets": "encrypted"}


class Settings:
    def __init__(self, http):
        self.http = http

    def get(self, headers=None):
        response = self.http.get("/api/settings", headers=headers)
        assert response.status_code == 200, response.text
        return response.json()

    def try_patch(self, **body):
        return self.http.patch("/api/settings", json=body)

    def patch(self, **body):
        response = self.try_patch(**body)
        assert response.status_code == 200, response.text
        return response.json()

    def llm(self, headers=None):
        return self.get(headers)["agent_settings"]["llm"]


def restored_settings(http):
    """Yield the settings; put back the language model, the limits and the pointers."""
    settings = Settings(http)
    before = settings.get(PLAINTEXT)
    yield settings
    settings.patch(
        agent_settings_diff={
            "agent_kind": before["agent_settings"]["agent_kind"],
            "llm": before["agent_settings"]["llm"],
        },
        conversation_settings_diff=before["conversation_settings"],
    )
    pointers = ("active_profile", "active_agent_profile_id", "active_meta_profile")
    with contextlib.suppress(AssertionError):  # a pointer's target may have been deleted
        settings.patch(**{name: before.get(name) for name in pointers})


class Profiles:
    """Named profiles under ``url``; what a test saves is deleted when it ends."""

    def __init__(self, http, url):
        self.http, self.url, self.saved = http, url, []

    def save(self, body, name=None):
        name = name or unique("profile")
        self.saved.append(name)
        response = self.try_save(name, body)
        assert response.status_code == 201, response.text
        return name

    def try_save(self, name, body):
        return self.http.post(f"{self.url}/{name}", json=body)

    def get(self, name, headers=None):
        return self.http.get(f"{self.url}/{name}", headers=headers)

    def post(self, name, action, body=None):
        return self.http.post(f"{self.url}/{name}/{action}", json=body)

    def rename(self, name, new_name):
        self.saved.append(new_name)
        return self.post(name, "rename", {"new_name": new_name})

    def delete(self, name):
        return self.http.delete(f"{self.url}/{name}")

    def list(self):
        response = self.http.get(self.url)
        assert response.status_code == 200, response.text
        return response.json()

    def listed(self):
        return {profile["name"]: profile for profile in self.list()["profiles"]}

    def clean(self):
        for name in self.saved:
            self.delete(name)


def profiles_at(http, url):
    profiles = Profiles(http, url)
    yield profiles
    profiles.clean()


MCP_SERVER = r'''
"""A minimal MCP server on stdio: newline-delimited JSON-RPC, three tools."""
import json, os, sys

TOOLS = [
    {"name": "add", "description": "Add two integers.", "inputSchema": {
        "type": "object", "required": ["a", "b"],
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}},
    {"name": "getenv", "description": "Read an environment variable.", "inputSchema": {
        "type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
    {"name": "fail", "description": "Always fails.", "inputSchema": {
        "type": "object", "properties": {}}},
]

def call(name, args):
    if name == "add":
        return str(args["a"] + args["b"]), False
    if name == "getenv":
        return os.environ.get(args["name"], ""), False
    return "this tool always fails", True

if "--pid-file" in sys.argv:
    open(sys.argv[sys.argv.index("--pid-file") + 1], "a").write(f"{os.getpid()}\n")
for line in sys.stdin:
    request = json.loads(line)
    method, params = request.get("method"), request.get("params") or {}
    if "id" not in request:
        continue
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "conformance", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        text, error = call(params["name"], params.get("arguments") or {})
        result = {"content": [{"type": "text", "text": text}], "isError": error}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
'''


def mcp_server(directory, *args):
    """Write the server into ``directory``; return its configuration for ``/api/mcp/test``."""
    script = directory / "mcp_server.py"
    script.write_text(MCP_SERVER)
    return {"type": "stdio", "command": sys.executable, "args": [str(script), *args]}


def has_detail(response, status):
    """Assert an error answer: this status, JSON, with ``detail``."""
    assert response.status_code == status, response.text
    assert "detail" in response.json()
    return response.json()["detail"]
