"""`make check` looks known vulnerabilities up: found ones fail it, a service that is away is said."""

import json
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.waiting import free_port

ROOT = Path(__file__).resolve().parents[2]
UV = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
VULNERABILITY = "GHSA-test-test-test"


def audit(service):
    return subprocess.run(
        [str(ROOT / ".ci" / "audit"), UV, service], capture_output=True, text=True, timeout=60
    )


@pytest.fixture
def serve():
    """Callable: a service of known vulnerabilities that knows these packages; its address."""
    started = []

    def _serve(*vulnerable):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
                names = [query["package"]["name"] for query in asked]
                found = [{"id": VULNERABILITY, "modified": "2026-01-01T00:00:00Z"}]
                self._answer({"results": [{"vulns": found} if name in vulnerable else {} for name in names]})

            def do_GET(self):
                package = {"name": vulnerable[0], "ecosystem": "PyPI"}
                ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}]
                self._answer(
                    {
                        "id": VULNERABILITY,
                        "modified": "2026-01-01T00:00:00Z",
                        "published": "2026-01-01T00:00:00Z",
                        "summary": "Everybody may do everything",
                        "affected": [{"package": package, "ranges": ranges}],
                    }
                )

            def _answer(self, body):
                raw = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        started.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}/"

    yield _serve
    for server, thread in started:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_known_vulnerability_fails_the_check_and_is_named(serve):
    ended = audit(serve("django"))
    assert ended.returncode != 0, ended.stdout
    assert VULNERABILITY in ended.stdout


def test_without_any_the_check_passes_in_silence(serve):
    ended = audit(serve())
    assert (ended.returncode, ended.stdout) == (0, "")


def test_a_service_that_cannot_be_reached_is_said_and_fails_nothing():
    ended = audit(f"http://127.0.0.1:{free_port()}/")
    assert ended.returncode == 0
    assert ended.stdout.startswith("SKIPPED: known vulnerabilities are not looked up")
