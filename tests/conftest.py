"""What every test may ask for: a running server, the scripted model, rows in the database, patience."""

import os
import threading

import pytest

from tests.support import waiting
from tests.support.model import scripted_model
from tests.support.server import GivenServer, OwnServer

SECRET_KEY = "tests-secret-key"


@pytest.fixture(scope="session")
def wait_until():
    """Callable: poll a check until it is truthy, with a deadline; returns its value."""
    return waiting.wait_until


@pytest.fixture(scope="session")
def llm_url():
    """Base URL (without /v1) of the scripted model; its manual is ``tests/support/fakellm.py``."""
    if url := os.environ.get("FAKE_LLM_URL"):
        yield url.rstrip("/")
        return
    with scripted_model() as url:
        yield url


@pytest.fixture(scope="session")
def agent_server(tmp_path_factory):
    """One server for the whole run, without a session key: ``url``, ``headers``, ``restart(signal)``."""
    if url := os.environ.get("AGENT_SERVER_URL"):
        yield GivenServer(url)
        return
    server = OwnServer(tmp_path_factory.mktemp("server"), OH_SECRET_KEY=SECRET_KEY, OH_PRELOAD_TOOLS="true")
    try:
        yield server.start().wait_ready()
    finally:
        server.stop()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """As pytest-django's; in the end the process's own writer and pools let their connections go."""
    yield
    from agentserver import threads, writer

    writer.current().close()
    for pool in (threads.requests, threads.waiting, threads.reading, threads.delivering, threads.files):
        if pool.cache_info().currsize:
            _close_connections_of(pool())
    threads.shutdown()
    _disconnect_others(django_db_blocker)


def _close_connections_of(pool):
    """Its threads keep theirs as long as they live; each closes its own."""
    from django.db import connections

    count = len(pool._threads)
    together = threading.Barrier(count) if count else None

    def close():
        together.wait(10)  # so that every thread gets one
        connections.close_all()

    for closing in [pool.submit(close) for _ in range(count)]:
        closing.result(10)


def _disconnect_others(django_db_blocker):
    """PostgreSQL drops a database only when nobody is connected; threads that still end are."""
    from django.db import connection

    if connection.vendor == "postgresql":
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


@pytest.fixture
def make_conversation(db):
    """Callable: a stored conversation, with any field by name."""
    from django.utils import timezone

    from conversations.models import Conversation

    def _make(**fields):
        now = timezone.now()
        defaults = {"workspace_dir": "workspace", "created_at": now, "updated_at": now}
        return Conversation.objects.create(**defaults | fields)

    return _make


@pytest.fixture
def make_event(db):
    """Callable: the next stored event of a conversation, with any field by name."""
    from conversations.models import Event

    def _make(conversation, **fields):
        sequence = Event.objects.filter(conversation=conversation).count()
        defaults = {
            "sequence": sequence,
            "event_id": f"event-{sequence}",
            "kind": "MessageEvent",
            "source": "user",
            "timestamp": "2026-01-01T00:00:00.000000",
            "payload": "{}",
        }
        return Event.objects.create(conversation=conversation, **defaults | fields)

    return _make
