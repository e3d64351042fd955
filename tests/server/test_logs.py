"""Logs hold neither keys nor refused input, also where a traceback is written, in either form."""

import json
import logging

import pytest
from pydantic import BaseModel

from agentserver import conf
from agentserver.observability import logs

KEY = "canary-session-key"


class Number(BaseModel):
    number: int


@pytest.fixture(params=["text", "json"])
def logged(request, monkeypatch):
    """Callable: log it as the server would; returns the line."""
    monkeypatch.setattr(conf.current(), "session_api_keys", [KEY])
    formatter = logs.formatter(request.param)

    def _logged(message, *args, exc_info=None, **extra):
        record = logging.LogRecord("name", logging.INFO, "file", 1, message, args, exc_info)
        record.__dict__.update(extra)
        line = formatter.format(record)
        return json.dumps(json.loads(line)) if request.param == "json" else line

    return _logged


def test_a_key_in_a_sockets_address_is_hidden(logged):
    line = logged("%s - WebSocket %s [accepted]", "127.0.0.1", "/sockets/x?a=1&session_api_key=another&b=2")
    assert "127.0.0.1 - WebSocket /sockets/x?a=1&session_api_key=***&b=2 [accepted]" in line


def test_a_session_key_is_hidden_wherever_it_stands(logged):
    assert KEY not in logged("headers: %r", {"x": KEY}, other=[{"inside": KEY}])


def test_a_bearer_is_hidden(logged):
    assert "abcdef123456" not in logged("sent Authorization: Bearer abcdef123456")


def test_a_traceback_does_not_repeat_what_was_refused(logged):
    refused = "-".join(["canary", "input"])
    try:
        Number(number=refused)
    except ValueError as error:
        line = logged("failed", exc_info=(type(error), error, error.__traceback__))

    assert "ValidationError" in line
    assert refused not in line
