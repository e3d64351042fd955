"""Migrations at start, on SQLite: looked at every time, run only where some are missing."""

import fcntl

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from agentserver import conf


def migrate_if_needed() -> None:
    """Bring the tables up to date; on PostgreSQL that is the operator's step, as many processes share it.

    Raises ConfigurationError if it has not been taken.
    """
    try:
        if connection.vendor != "sqlite":
            _require_migrated()
            return
        # Two servers that start on one directory take turns.
        with (conf.current().persistence_dir / "migrate.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if missing():
                call_command("migrate", verbosity=0, interactive=False)
    finally:
        connection.close()


def _require_migrated() -> None:
    if missing():
        raise conf.ConfigurationError(
            "The tables of the database are not those of this version. Run: agentserver migrate"
        )


def missing() -> bool:
    """Whether tables have yet to be made or changed."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
