"""A process that freezes inside a transaction keeps locks; the database takes them from it."""

import os
import signal
import subprocess
import sys
import time

import psutil
import psycopg
import pytest

from tests.engines.test_other_engines import DATABASE_URL, ROOT, listens
from tests.engines.test_unmigrated import empty_database  # noqa: F401  (a fixture)

LOCK = "SELECT pg_advisory_xact_lock(7)"
FREEZE = f"cursor.execute('{LOCK}'); os.kill(os.getpid(), signal.SIGSTOP)"
DJANGO = f"""
import os, signal
from django.db import connection, transaction
with transaction.atomic(), connection.cursor() as cursor:
    {FREEZE}
"""
ENGINE = f"""
import os, signal, psycopg
from procrastinate.contrib.django.utils import connector_params
with psycopg.connect(**connector_params()) as connection, connection.cursor() as cursor:
    {FREEZE}
"""


@pytest.fixture
def frozen(empty_database, tmp_path):  # noqa: F811
    """Callable: run this code in a process of the project until it has stopped itself."""
    inherited = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    given = {"DATABASE_URL": empty_database, "REDIS_URL": "redis://127.0.0.1:6379/15"}
    given |= {"OH_PERSISTENCE_DIR": str(tmp_path), "OH_RUNNER_STALLED_SECONDS": "1"}
    started = []

    def _run(code):
        process = subprocess.Popen(
            [sys.executable, ROOT / "manage.py", "shell", "-c", code], env=inherited | given
        )
        started.append(process)
        deadline = time.monotonic() + 60
        while psutil.Process(process.pid).status() != psutil.STATUS_STOPPED:
            assert process.poll() is None, "it ended before it froze"
            assert time.monotonic() < deadline, "it does not freeze"
            time.sleep(0.05)

    yield _run
    for process in started:
        process.send_signal(signal.SIGKILL)
        process.wait(10)


@pytest.mark.skipif(not listens(DATABASE_URL), reason="no PostgreSQL on 127.0.0.1:5432 or TEST_DATABASE_URL")
@pytest.mark.parametrize("code", [DJANGO, ENGINE], ids=["django", "engine"])
def test_what_a_frozen_process_has_locked_is_free_again(frozen, empty_database, code):  # noqa: F811
    frozen(code)

    with psycopg.connect(empty_database) as other:
        other.execute("SET statement_timeout = '30s'")
        other.execute(LOCK)  # raises QueryCanceled if it is never free
