"""What reading costs as the store grows: 10, 1,000 and 100,000 conversations and events.

Prints medians; nothing here fails for being slow. Run it on a quiet machine: make bench
"""

import sqlite3
import statistics
import time
import uuid

import pytest

from tests.contract.dialogue import Dialogue, say
from tests.support.server import OwnServer, database_file

SIZES = (10, 1_000, 100_000)
ROUNDS = 60


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = OwnServer(tmp_path_factory.mktemp("reads"), OH_SECRET_KEY="bench")
    yield server.start().wait_ready()
    server.stop()


@pytest.fixture(scope="module")
def database(server):
    """The server's database file, beside the server."""
    connection = sqlite3.connect(database_file(server.root), timeout=30)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def pattern(server, llm_url, tmp_path_factory):
    """A real conversation that has ended; the others are copies of its row."""
    llm = {"usage_id": "bench", "model": "openai/fake", "base_url": f"{llm_url}/v1", "api_key": "k"}
    agent = {"kind": "Agent", "llm": llm, "tools": [{"name": "terminal", "params": {}}]}
    conversation = Dialogue.open(server.http, llm_url, agent, tmp_path_factory.mktemp("w"), say("done"))
    conversation.wait_finished()
    return conversation


def copies(database, table_name, count, **changed):
    """Insert ``count`` copies of the newest row of a table, with the columns that ``changed`` computes."""
    cursor = database.execute(f"SELECT * FROM {table_name} ORDER BY rowid DESC LIMIT 1")
    names = [column[0] for column in cursor.description]
    row = dict(zip(names, cursor.fetchone(), strict=True))
    if table_name == "conversations_event":
        names.remove("id")
    marks = ",".join("?" * len(names))
    with database:
        database.executemany(
            f"INSERT INTO {table_name} ({','.join(names)}) VALUES ({marks})",
            (
                [changed[name](number) if name in changed else row[name] for name in names]
                for number in range(count)
            ),
        )


def median(server, path, **params):
    """Milliseconds of a GET that answers 200."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        response = server.http.get(path, params=params)
        times.append(time.perf_counter() - begin)
        assert response.status_code == 200, response.text
    return 1000 * statistics.median(times)


def test_conversations(server, database, pattern, table):
    there = 1
    for size in SIZES:
        copies(
            database,
            "conversations_conversation",
            size - there,
            id=lambda _: uuid.uuid4().hex,
            created_at=lambda n, base=there: f"2026-01-01 00:{n // 60 % 60:02}:{n % 60:02}.{base + n:06}",
            updated_at=lambda n, base=there: f"2026-01-02 00:{n // 60 % 60:02}:{n % 60:02}.{base + n:06}",
        )
        there = size
        api = "/api/conversations"
        table.at("GET a conversation", size, median(server, pattern.path))
        table.at("list of 20, newest", size, median(server, f"{api}/search", limit=20))
        table.at("list of 20, finished", size, median(server, f"{api}/search", limit=20, status="finished"))
        table.at("list of 20, idle (none)", size, median(server, f"{api}/search", limit=20, status="idle"))
        table.at("count", size, median(server, f"{api}/count"))
        table.at("count, finished", size, median(server, f"{api}/count", status="finished"))
        assert server.http.get(f"{api}/count").json() == size


def test_events(server, database, pattern, table):
    (there,) = database.execute("SELECT count(*) FROM conversations_event").fetchone()
    for size in SIZES:
        copies(
            database,
            "conversations_event",
            max(0, size - there),
            sequence=lambda n, base=there: base + n,
            event_id=lambda _: str(uuid.uuid4()),
            kind=lambda n: ("MessageEvent", "ActionEvent", "ObservationEvent")[n % 3],
        )
        there = max(size, there)
        with database:
            database.execute(
                "UPDATE conversations_conversation SET next_sequence = ? WHERE id = ?",
                [there, uuid.UUID(pattern.id).hex],
            )
        events = f"{pattern.path}/events"
        table.at("events: first 100", size, median(server, f"{events}/search", limit=100))
        newest = {"limit": 100, "sort_order": "TIMESTAMP_DESC"}
        table.at("events: last 100", size, median(server, f"{events}/search", **newest))
        table.at(
            "events: 100 by kind", size, median(server, f"{events}/search", limit=100, kind="MessageEvent")
        )
        table.at(
            "events: by body (none)", size, median(server, f"{events}/search", limit=100, body="nowhere")
        )
        table.at("events: count", size, median(server, f"{events}/count"))
        table.at("events: count by kind", size, median(server, f"{events}/count", kind="MessageEvent"))
