"""Bash over HTTP on the shared server, stored events, and a writer and a runner of each test's own."""

import datetime

import httpx
import pytest
from django.db import connections
from django.utils import timezone

from agentserver import threads, writer
from bashevents import runner
from bashevents.models import BashEvent, Kind
from bashevents.serializers import ExecuteRequest, command_payload, new_id, output_content, output_payload
from tests.contract.kit import Bash


@pytest.fixture(scope="session")
def http(agent_server):
    with httpx.Client(base_url=agent_server.url, headers=agent_server.headers, timeout=60) as client:
        yield client


@pytest.fixture
def bash(http):
    return Bash(http)


@pytest.fixture(autouse=True)
def no_connection_left():
    """Threads that outlive a test keep no connection to its database."""
    yield
    writer.current().close()
    threads.waiting().submit(connections.close_all).result()


@pytest.fixture
def here(transactional_db):
    """Commands run in this process, on the test's own database; ended with it."""
    yield runner.current()
    runner.close()


@pytest.fixture
def make_command(db):
    """Callable: a stored command that ended ``age`` seconds ago, with ``outputs`` outputs."""

    def _make(age=0.0, *, outputs=1, running="", conversation_id=None, ended=None):
        moment = timezone.now() - datetime.timedelta(seconds=age)
        key = new_id()
        payload = command_payload(key, moment, ExecuteRequest(command="true"))
        command = BashEvent.objects.create(
            event_id=key,
            command_id=key,
            conversation_id=conversation_id,
            kind=Kind.COMMAND,
            timestamp=moment,
            payload=payload,
            size=len(payload),
            runner=running,
            finished_at=None if running else timezone.now() - datetime.timedelta(seconds=ended or age),
        )
        for order in range(outputs):
            _output(command, order, moment + datetime.timedelta(milliseconds=order + 1))
        return command

    def _output(command, order, moment):
        key = new_id()
        content = output_content(
            command_id=command.event_id, order=order, exit_code=None, stdout="text", stderr=None
        )
        payload = output_payload(key, moment, content)
        BashEvent.objects.create(
            event_id=key,
            command_id=command.event_id,
            conversation_id=command.conversation_id,
            kind=Kind.OUTPUT,
            timestamp=moment,
            order=order,
            payload=payload,
            size=len(payload),
        )

    return _make
