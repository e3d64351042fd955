"""Databases of their own on a real PostgreSQL, for servers that tests start.

``TEST_SERVERS_DATABASE_URL`` names a database of it; unset, servers use SQLite. Each data directory
gets one database, made from a template that is migrated once per run and dropped with the last one.
"""

import atexit
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

ADMIN = os.environ.get("TEST_SERVERS_DATABASE_URL", "")
MANAGE = Path(__file__).resolve().parents[2] / "manage.py"
_made: dict[str, str] = {}


def database_of(directory):
    """The URL of the database that belongs to ``directory``, made on first use; "" without PostgreSQL."""
    if not ADMIN:
        return ""
    name = f"server_{hashlib.sha256(str(directory).encode()).hexdigest()[:16]}"
    if name not in _made:
        _made[name] = _create(name, _template())
    return _made[name]


def named(name, server):
    """The URL of the database ``name`` on the server of URL ``server``, made if need be; nobody drops it."""
    with psycopg.connect(server, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))


def _template():
    name = f"template_{os.getpid()}"
    if name not in _made:
        _made[name] = _create(name, "template1")
        inherited = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}  # the tests' own
        subprocess.run(
            [sys.executable, MANAGE, "migrate", "-v", "0"],
            check=True,
            env={**inherited, "DATABASE_URL": _made[name], "OH_PERSISTENCE_DIR": tempfile.mkdtemp()},
        )
        atexit.register(_drop_all)
    return name


def _create(name, template):
    with psycopg.connect(ADMIN, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
        )
    return urlunsplit(urlsplit(ADMIN)._replace(path=f"/{name}"))


def _drop_all():
    with psycopg.connect(ADMIN, autocommit=True) as connection:
        for name in _made:
            connection.execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
            )
