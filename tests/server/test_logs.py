"""Logs hold neither keys nor refused input, also where a traceback is written."""

import logging

import pytest
from pydantic import BaseModel

from agentserver import conf
from agentserver.front.logs import HideKeys

KEY = "canary-session-key"


class Number(BaseModel):
    number: int


@pytest.fixture
def logged(monkeypatch):
    """Callable: log it as the server would; returns the line."""
    monkeypatch.setattr(conf.current(), "session_api_keys", [KEY])

    def _logged(message, *args, exc_info=None):
        record = logging.LogRecord("name", logging.INFO, "file", 1, message, args, exc_info)
        assert HideKeys().filter(record)
        return logging.Formatter("%(message)s").format(record)

    return _logged


def test_a_key_in_a_sockets_address_is_hidden(logged):
    line = logged("%s - WebSocket %s [accepted]", "127.0.0.1", "/sockets/x?a=1&session_api_key=another&b=2")
    assert line == "127.0.0.1 - WebSocket /sockets/x?a=1&session_api_key=***&b=2 [accepted]"


def test_a_session_key_is_hidden_wherever_it_stands(logged):
    assert KEY not in logged("headers: %r", {"x": KEY})


def test_a_traceback_does_not_repeat_what_was_refused(logged):
    try:
        Number(number="canary-input")
    except ValueError as error:
        line = logged("failed", exc_info=(type(error), error, error.__traceback__))

    assert "ValidationError" in line
    assert "canary-input" not in line.replace('Number(number="canary-input")', "")
