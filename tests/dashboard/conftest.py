"""The dashboard in a real browser, against a real server with the scripted model."""

import contextlib
import sqlite3

import psycopg
import pytest

from tests.contract.conftest import (  # noqa: F401  (fixtures)
    auth_headers,
    base_url,
    http,
    llm_config,
    llm_stats,
    start,
    workspace,
)
from tests.contract.dialogue import talk  # noqa: F401
from tests.support import postgres
from tests.support.browser import CHROMIUM, MISSING, chromium
from tests.support.server import GivenServer, database_file


@pytest.fixture(scope="session")
def agent_config(llm_config):  # noqa: F811
    """An agent as JSON with terminal and editor, whose model streams."""
    return {
        "kind": "Agent",
        "llm": {**llm_config, "stream": True},
        "tools": [{"name": "terminal", "params": {}}, {"name": "file_editor", "params": {}}],
        "include_default_tools": ["FinishTool", "ThinkTool"],
    }


@pytest.fixture(scope="module")
def browser():
    """Chromium, for one file: its driver occupies the thread's event loop, which async tests need."""
    if CHROMIUM is None:
        pytest.skip(MISSING)
    with chromium() as browser:
        yield browser


@pytest.fixture
def open_page(browser, base_url):  # noqa: F811
    """Callable: a page of its own browser window on ``path``. No script of it may fail or be refused.

    ``page.complaints`` is what its console said; ``page.tolerant = True`` allows it.
    """
    opened = []

    def _open(path, base=base_url, width=1440, height=900, scheme="light", **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, **options
        )
        context.set_default_timeout(20_000)
        page = context.new_page()
        page.complaints, page.tolerant = [], False
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("console", lambda said: _is_complaint(said) and page.complaints.append(said.text))
        page.on("dialog", lambda dialog: (page.complaints.append("dialog"), dialog.dismiss()))
        opened.append((context, page))
        page.goto(base + path)
        return page

    yield _open
    complaints = [said for _, page in opened if not page.tolerant for said in page.complaints]
    for context, _ in opened:
        context.close()
    assert complaints == []


def _is_complaint(said):
    """Errors, but not the browser's note that a request was answered with 4xx: the page says so itself."""
    return said.type == "error" and "responded with a status of 4" not in said.text


def only_ours(server):
    """Skip where the server is one of AGENT_SERVER_URL: its process and database are not at hand."""
    if isinstance(server, GivenServer):
        pytest.skip("the database of a server of AGENT_SERVER_URL is not at hand")


@contextlib.contextmanager
def database_of(server):
    """``execute(sql, values)`` on the database of a server that the tests started; marks are ``%s``.

    Rows are the record, so tests may write some.
    """
    only_ours(server)
    if url := postgres.database_of(server.root):
        with psycopg.connect(url) as connection:
            yield connection.execute
        return
    with (
        contextlib.closing(sqlite3.connect(database_file(server.root), timeout=20)) as connection,
        connection,
    ):
        yield lambda sql, values: connection.execute(sql.replace("%s", "?"), values)


def conversation_path(talked):
    return f"/dashboard/conversations/{talked.id}"
