"""Whatever the documents show at a prompt is typed and shows what they promise; what they set exists."""

import json
import os
import re
import shutil
from urllib.parse import urlsplit, urlunsplit

import httpx
import psycopg
import pytest

from agentserver import conf
from tests.docs.blocks import ROOT, Block, blocks_of
from tests.engines.test_other_engines import DATABASE_URL, REDIS_URL, listens
from tests.support.server import OwnServer

HERE = {"bash.md", "operations.md", "security.md", "settings.md", "webhooks.md", "workspaces.md"}
HERE |= {"how-to/backup.md", "how-to/moving.md", "how-to/postgresql-and-redis.md"}
ELSEWHERE = {"tutorial.md": "test_tutorial.py", "how-to/install.md": "packaging/test_wheel.py"}
SHOWN = {"ini", "json", "http", "yaml", "cron"}
"""Languages of what nobody types: settings, files, messages."""
WITHOUT_AN_ENGINE = {"how-to/install.md"}
"""Where `sh` stands for commands that need a container engine, which tests have not."""
PAGES = sorted(p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md"))
REFERENCE_DATA = ROOT / "tests" / "workspace" / "data" / "1.58.2" / "workspace"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server for what the pages do to it, without a key."""
    root = tmp_path_factory.mktemp("documented")
    server = OwnServer(root, OH_METRICS_TOKEN="choose-a-long-one", OH_SECRET_KEY="a-long-random-text")
    try:
        yield server.start().wait_ready()
    finally:
        server.stop()


def console(page):
    return blocks_of(f"docs/{page}", "console")


def typed(text):
    return Block("console", f"$ {text.removeprefix('$ ').rstrip()}\n")


def served(page):
    """The command of the page that starts a server."""
    (block,) = blocks_of(f"docs/{page}", "bash")
    return block.text


def test_every_block_that_can_be_typed_is_typed_by_a_test():
    typed = {page for page in PAGES if blocks_of(f"docs/{page}", "bash", "console")}
    languages = {page: {block.language for block in blocks_of(f"docs/{page}")} for page in PAGES}
    strange = {page: found - SHOWN - {"bash", "console", "python"} for page, found in languages.items()}

    assert typed == HERE | set(ELSEWHERE)
    assert {page for page, found in strange.items() if found} == WITHOUT_AN_ENGINE


@pytest.mark.parametrize("page", [page for page in PAGES if page != "scaling.md"])
def test_no_command_hides_in_a_block_that_says_no_language(page):
    text = (ROOT / "docs" / page).read_text()

    assert re.findall(r"^ {4,}(?:\$|curl|agentserver|make|python|uv|pip)\s.*", text, re.MULTILINE) == []


def test_what_is_set_in_the_documents_is_a_setting():
    fields = conf.Configuration.model_fields
    known = {str(field.validation_alias or f"OH_{name.upper()}") for name, field in fields.items()}
    known |= {f"OH_WEBHOOKS_{name.upper()}" for name in conf.WebhookSpec.model_fields}
    texts = [
        ROOT / name for name in ("README.md", "SECURITY.md", "ARCHITECTURE.md", *(f"docs/{p}" for p in PAGES))
    ]
    named = {name for text in texts for name in re.findall(r"\bOH_[A-Z][A-Z0-9_]*[A-Z0-9]", text.read_text())}

    assert {name for name in named if re.sub(r"_\d+(?=_|$)", "", name) not in known} == set()


@pytest.mark.parametrize("page", ["bash.md", "operations.md", "workspaces.md"])
def test_a_page_shows_what_is_seen(follow, server, page):
    # The terminal's own path; and a name that only the reference knows, which `doctor` would name.
    left_out = {"PATH", "OH_BASH_EVENTS_DIR"}
    there = {name: value for name, value in server.environment().items() if name not in left_out}

    follow(console(page), server.url, **there)


def test_every_metric_is_explained(server):
    shown = httpx.get(f"{server.url}/metrics", headers={"Authorization": "Bearer choose-a-long-one"}).text
    names = re.findall(r"^# TYPE agentserver_(\w+)", shown, re.MULTILINE)
    explained = (ROOT / "docs" / "reference" / "metrics.md").read_text()

    assert len(names) > 20
    assert [name for name in names if f"`{name}" not in explained] == []


@pytest.mark.slow
def test_settings_and_profiles_are_kept_and_an_agent_answers_as_a_model(follow, serving, llm_url):
    blocks = console("settings.md")
    url = serving(served("settings.md"))
    # The provider of the page is not for tests: the scripted model answers in its place.
    there = {"model": "openai/fake-model", "base_url": f"{llm_url}/v1", "api_key": "sk-...", "num_retries": 0}
    scripted = [
        block.text.replace('{"model": "openai/gpt-6-luna", "api_key": "sk-..."}', json.dumps(there))
        for block in blocks
    ]

    follow([Block("console", text) for text in scripted], url)

    assert httpx.get(f"{url}/api/settings").json()["agent_settings"]["llm"]["model"] == "openai/fake-model"


@pytest.mark.slow
def test_strangers_are_kept_out_and_accounts_let_in(follow, serving, tmp_path):
    *blocks, _ = console("security.md")  # the last is test_production.py's
    url = serving(served("security.md"))

    *_, token = follow(blocks, url, refused=["agentserver serve"], OH_PERSISTENCE_DIR=str(tmp_path / "data"))

    path = f"{url}/api/conversations/count"
    assert httpx.get(path).status_code == 401
    assert httpx.get(path, headers={"X-Session-API-Key": token.seen.strip()}).status_code == 200


def test_a_webhook_is_made_and_its_signature_verified(follow, server):
    follow(console("webhooks.md"), server.url, TOKEN="none-is-needed")


@pytest.mark.slow
def test_conversations_move_here_and_back(follow, tmp_path):
    data = {"OH_PERSISTENCE_DIR": str(tmp_path / "data"), "OH_SECRET_KEY": "reference-data-key"}
    blocks = console("how-to/moving.md")
    moved = [
        Block("console", block.text.replace("/srv/agent/workspace", str(REFERENCE_DATA))) for block in blocks
    ]

    follow([Block("console", "$ agentserver migrate -v 0\n"), *moved], **data)

    back = tmp_path / "directory" / "back"
    files = [p.relative_to(REFERENCE_DATA) for p in REFERENCE_DATA.rglob("event-*.json")]
    assert files
    assert [f for f in files if (back / f).read_bytes() != (REFERENCE_DATA / f).read_bytes()] == []


@pytest.mark.slow
def test_a_backup_of_a_running_server_is_restored(follow, tmp_path):
    sqlite, restore, postgresql = console("how-to/backup.md")
    assert "pg_dump" in postgresql.text  # with PostgreSQL, below
    data = tmp_path / ".local" / "share" / "agentserver"
    before, after = typed("agentserver migrate -v 0"), typed("agentserver doctor")

    *_, told = follow([before, sqlite, typed(f"rm {data}/agentserver.sqlite3"), restore, after])

    assert "its tables are those of this version" in told.seen


@pytest.fixture
def empty_database():
    """The name of a database that ends with the test, and how the commands of PostgreSQL reach its server."""
    server, name = urlsplit(DATABASE_URL), f"documented_{os.getpid()}"
    yield (
        name,
        {
            "PGHOST": server.hostname,
            "PGPORT": str(server.port),
            "PGUSER": server.username,
            "PGPASSWORD": server.password,
            "PGDATABASE": "postgres",
        },
    )
    with psycopg.connect(urlunsplit(server._replace(path="/postgres")), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"DROP ROLE IF EXISTS {name}")


@pytest.mark.slow
@pytest.mark.skipif(not listens(DATABASE_URL), reason="no PostgreSQL on 127.0.0.1:5432 or TEST_DATABASE_URL")
@pytest.mark.skipif(not listens(REDIS_URL), reason="no Redis on 127.0.0.1:6379 or TEST_REDIS_URL")
@pytest.mark.skipif(shutil.which("pg_dump") is None, reason="no client programs of PostgreSQL")
def test_a_database_on_postgresql_is_made_served_saved_and_restored(
    follow, serving, empty_database, tmp_path
):
    name, client = empty_database
    made, tables = (
        typed(
            block.text.replace("ROLE agentserver", f"ROLE {name}").replace(
                "--owner agentserver agentserver", f"--owner {name} {name}"
            )
        )
        for block in console("how-to/postgresql-and-redis.md")
    )
    address = f"postgres://{name}:password@{client['PGHOST']}:{client['PGPORT']}/{name}"
    used = {
        **client,
        "DATABASE_URL": address,
        "REDIS_URL": REDIS_URL,
        "OH_PERSISTENCE_DIR": str(tmp_path / "data"),
    }

    follow([made, tables], **used)
    url = serving(served("how-to/postgresql-and-redis.md"), **used)
    saved = console("how-to/backup.md")[-1]
    *_, told = follow([saved, typed("agentserver doctor")], **used)

    assert httpx.get(f"{url}/api/conversations/count", timeout=60).json() == 0
    assert "PostgreSQL answers, its tables are those of this version" in told.seen
