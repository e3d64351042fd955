"""The tests marked ``engines``, once more on PostgreSQL and Redis, where these are at hand."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATABASE_URL = os.environ.get(
    "TEST_DATABASE_URL", f"postgres://postgres:postgres@127.0.0.1:5432/agentserver_{os.getpid()}"
)
REDIS_URL = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/15")
ON_OTHER_ENGINES = "TEST_OTHER_ENGINES"


def listens(url):
    address = urlsplit(url)
    try:
        socket.create_connection((address.hostname, address.port), timeout=2).close()
    except OSError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.skipif(ON_OTHER_ENGINES in os.environ, reason="this is that run")
@pytest.mark.skipif(not listens(DATABASE_URL), reason="no PostgreSQL on 127.0.0.1:5432 or TEST_DATABASE_URL")
@pytest.mark.skipif(not listens(REDIS_URL), reason="no Redis on 127.0.0.1:6379 or TEST_REDIS_URL")
def test_what_is_marked_engines_passes_on_postgresql_and_redis():
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-m",
            "engines",
            "-p",
            "no:cacheprovider",
            "-rs",
            "--ignore=tests/contract",
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "TEST_DATABASE_URL": DATABASE_URL,
            "TEST_REDIS_URL": REDIS_URL,
            ON_OTHER_ENGINES: "1",
        },
        capture_output=True,
        text=True,
        timeout=380,
    )

    print(run.stdout[-2000:])
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
