"""On PostgreSQL the operator migrates; a server that finds no tables says so and ends."""

import os
import subprocess
import sys
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from tests.engines.test_other_engines import DATABASE_URL, ROOT, listens


@pytest.fixture
def empty_database():
    """The URL of a database without tables."""
    server = urlunsplit(urlsplit(DATABASE_URL)._replace(path="/postgres"))
    name = f"empty_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield urlunsplit(urlsplit(DATABASE_URL)._replace(path=f"/{name}"))
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.skipif(not listens(DATABASE_URL), reason="no PostgreSQL on 127.0.0.1:5432 or TEST_DATABASE_URL")
def test_a_start_without_the_tables_says_how_to_make_them(empty_database, tmp_path):
    inherited = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    run = subprocess.run(
        [sys.executable, ROOT / "manage.py", "serve", "--port", "0", "--data", tmp_path],
        env={**inherited, "DATABASE_URL": empty_database},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert run.returncode == 1
    assert run.stderr.rstrip().endswith("Run: agentserver migrate")
