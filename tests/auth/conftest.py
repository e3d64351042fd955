"""The front door in this process: the gate around an application that tells whom it let in."""

import json

import httpx
import pytest

from agentserver import conf
from agentserver.front.answers import send_json
from agentserver.front.cors import Cors
from agentserver.front.gate import Gate
from tests.contract.ownserver import own_server  # noqa: F401  (fixture)

KEY = "session-key-1f0c"
ADDRESS = "http://127.0.0.1:8000"
PAGES = ("/admin", "/login")


@pytest.fixture
def configure(monkeypatch):
    """Callable: set settings for this test."""

    def _configure(**values):
        for name, value in values.items():
            monkeypatch.setattr(conf.current(), name, value)

    return _configure


@pytest.fixture
def keyed(configure):
    """With a session key; its value."""
    configure(session_api_keys=[KEY])
    return KEY


async def _tell(scope, receive, send):
    """Answers with what it was given, after reading the body as any application does."""
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    principal = scope.get("principal")
    who = None if principal is None else {"operator": principal.operator, "user_id": principal.user_id}
    await send_json(send, 200, {"path": scope["path"], "who": who, "size": size})


@pytest.fixture
def ask():
    """Callable: one request through the front door; returns the answer."""
    front = Cors(Gate(_tell, PAGES), PAGES)

    async def _ask(method, path, *, base=ADDRESS, application=front, **options):
        transport = httpx.ASGITransport(app=application)
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            return await client.request(method, path, **options)

    return _ask


@pytest.fixture
def make_user(transactional_db):
    """Callable: an account; ``staff=True`` for one of the staff."""
    from django.contrib.auth import get_user_model

    def _make(name, *, staff=False, password="correct horse", active=True):
        return get_user_model().objects.create_user(
            username=name, password=password, is_staff=staff, is_active=active
        )

    return _make


@pytest.fixture
def make_token(make_user):
    """Callable: a token of a new account; returns the account and the token's text."""
    from agentserver.auth import tokens

    def _make(name, **options):
        user = make_user(name, **options)
        return user, tokens.create(user=user, name="test")[1]

    return _make


@pytest.fixture
def scope_of():
    """Callable: the ASGI scope of a socket or request."""

    def _scope(path="/sockets/events/x", *, kind="websocket", query="", **headers):
        named = {"host": "127.0.0.1:8000", **headers}
        raw = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in named.items()]
        return {"type": kind, "path": path, "query_string": query.encode(), "headers": raw, "method": "GET"}

    return _scope


def who(response):
    """Whom the gate let in, of an answer of ``ask``."""
    return json.loads(response.content)["who"]
