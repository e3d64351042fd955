"""Servers that tests start, stop, kill and restart, each on a data directory of its own.

``AGENT_SERVER_START_CMD`` is a shell command line with ``{port}`` that starts the server under
test in the foreground on 127.0.0.1; by default it is this project's own ``manage.py serve``. It is
run in an empty directory with an empty ``HOME``; the data directories and any further options come
as ``OH_*`` variables. Use absolute paths in it.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from tests.support import postgres
from tests.support.waiting import free_port, wait_until

MANAGE = Path(__file__).resolve().parents[2] / "manage.py"
START_CMD = os.environ.get("AGENT_SERVER_START_CMD") or (
    f"exec {shlex.quote(sys.executable)} {shlex.quote(str(MANAGE))} serve --port {{port}}"
)
NOT_INHERITED = {
    "SESSION_API_KEY",
    "DATABASE_URL",
    "REDIS_URL",
    "DJANGO_SETTINGS_MODULE",  # the tests' own
    "PYTHONDONTWRITEBYTECODE",  # every start would compile the SDK again
}


def data_directory(root):
    """Where a server started with ``root`` keeps its data."""
    return root / "home" / ".openhands"


def database_file(root):
    """Its database, where that is SQLite."""
    return data_directory(root) / "agentserver.sqlite3"


class OwnServer:
    """One data directory; start and stop a server on it as often as needed."""

    command = START_CMD

    def __init__(self, root, **options):
        self.root, self.options, self.process, self.http = root, options, None, None
        for name in ("home", "cwd"):
            (root / name).mkdir(parents=True, exist_ok=True)
        self.log = root / "server.log"
        self.port = None

    @property
    def headers(self):
        key = self.options.get("OH_SESSION_API_KEYS_0")
        return {"X-Session-API-Key": key} if key else {}

    def environment(self):
        """What the server sees; for commands that work on the same data beside it."""
        inherited = {
            k: v for k, v in os.environ.items() if not k.startswith("OH_") and k not in NOT_INHERITED
        }
        return {
            **inherited,
            "HOME": str(self.root / "home"),
            "OH_PERSISTENCE_DIR": str(data_directory(self.root)),
            "OH_CONVERSATIONS_PATH": str(self.root / "conversations"),
            "OH_BASH_EVENTS_DIR": str(self.root / "bash_events"),
            "OH_WORKSPACE_PATH": str(self.root / "workspace"),
            "OH_ENABLE_VSCODE": "false",
            "OH_PRELOAD_TOOLS": "false",
            "OPENHANDS_SUPPRESS_BANNER": "1",
            **({"DATABASE_URL": database} if (database := postgres.database_of(self.root)) else {}),
            **self.options,
        }

    def start(self, stdin=subprocess.DEVNULL, timeout=90, port=None, **options):
        """Start, on a free port if none is given; ``options`` are added to those of the earlier starts."""
        self.options.update(options)
        self.launch(stdin, port)
        wait_until(self._answers, timeout, message=f"server start, see {self.log}")
        return self

    def launch(self, stdin=subprocess.DEVNULL, port=None):
        """Start without waiting for an answer."""
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command.replace("{port}", str(self.port)),
                shell=True,
                cwd=self.root / "cwd",
                env=self.environment(),
                stdin=stdin,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.http = httpx.Client(base_url=self.url, headers=self.headers, timeout=60)

    def wait_ready(self, timeout=90):
        """Until conversations can run: the agent SDK is imported after the first answers."""
        wait_until(lambda: self.http.get("/ready").status_code == 200, timeout, message="/ready")
        return self

    def restart(self, signal_name):
        """Stop with SIGTERM or SIGKILL (``"TERM"``, ``"KILL"``) and start again, same data and address."""
        (self.stop if signal_name == "TERM" else self.kill)()
        return self.start(port=self.port)

    def _answers(self):
        assert self.process.poll() is None, f"server exited:\n{self.log.read_text()[-2000:]}"
        with contextlib.suppress(httpx.HTTPError):
            return self.http.get("/health").status_code == 200

    def _signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def _gone(self):
        self.process.poll()
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return True

    def stop(self, timeout=15):
        """SIGTERM, as a service manager would; SIGKILL for what is left."""
        if self.process is None:
            return
        self.http.close()
        self._signal(signal.SIGTERM)
        with contextlib.suppress(AssertionError):
            wait_until(self._gone, timeout)
        self.kill()

    def kill(self):
        """SIGKILL: what a crash looks like."""
        self.http.close()
        self._signal(signal.SIGKILL)
        self.process.wait(10)
        if self.process.stdin:
            self.process.stdin.close()
        self.process = None


class GivenServer:
    """A server of ``AGENT_SERVER_URL``, which somebody else runs; see ``tests/contract/README.md``."""

    def __init__(self, url):
        key = os.environ.get("AGENT_SERVER_API_KEY")
        self.url = url.rstrip("/")
        self.headers = {"X-Session-API-Key": key} if key else {}

    def restart(self, signal_name):
        """Run the command, which stops the server with ``$SIGNAL`` and starts it on the same data."""
        subprocess.run(
            os.environ["AGENT_SERVER_RESTART_CMD"],
            shell=True,
            check=True,
            timeout=180,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "SIGNAL": signal_name},
        )
        wait_until(self._answers, 90, message="server after its restart")

    def _answers(self):
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/health").status_code == 200

    def stop(self):
        """Not ours to stop."""
