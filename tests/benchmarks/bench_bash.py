"""What bash events promise, measured: quick searches in many rows, and a prune that no writer waits for.

Prints tables; nothing here fails for being slow. Run it on a quiet machine: make bench ARGS="-k bash".
It takes some minutes. ``BASH_OLD_EVENTS``: how many are pruned (1,000,000).
"""

import http.client
import itertools
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.server import MANAGE, OwnServer, data_directory, database_file

pytestmark = pytest.mark.timeout(3600)

ROWS, POLLERS, POLLS = 200_000, 10, 60
OLD_EVENTS = int(os.environ.get("BASH_OLD_EVENTS", "1000000"))
COLUMNS = (
    "event_id, conversation_id, kind, timestamp, command_id, [order], exit_code, finished_at, size, payload, "
    "runner"
)


@pytest.fixture
def server(tmp_path):
    server = OwnServer(tmp_path, OH_SECRET_KEY="bench")
    yield server.start().wait_ready()
    server.stop()


@pytest.fixture
def database(server):
    """The server's database file, beside the server."""
    connection = sqlite3.connect(database_file(server.root), timeout=60)
    yield connection
    connection.close()


def fill(database, count, day):
    """``count`` events of commands that have ended, each with one output, from that day on."""
    marks = ",".join("?" * (COLUMNS.count(",") + 1))
    for first in range(0, count, 20_000):
        rows = (row for number in range(first, min(first + 20_000, count), 2) for row in pair(number, day))
        with database:
            database.executemany(f"INSERT INTO bashevents_bashevent ({COLUMNS}) VALUES ({marks})", rows)


def pair(number, day):
    """The rows of a command and its output, ten commands a second."""
    second = number // 10
    at = f"{day} {second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}.{number % 10}00000"
    command, output = uuid.uuid4().hex, uuid.uuid4().hex
    for event, kind, order in ((command, "BashCommand", None), (output, "BashOutput", 0)):
        payload = f'{{"id":"{event}","kind":"{kind}","command":"echo {number}","stdout":"{"x" * 200}"}}'
        ended = at if order is None else None
        yield (event, None, kind, at, command, order, order, ended, len(payload), payload, "")


def poll(port, path, pause=0.0):
    """Milliseconds of each of some searches, one after the other."""
    times = []
    # Not httpx: ten of its clients in one process would wait for each other.
    server = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for number in range(POLLS):
        limit = 20 + number % 80
        time.sleep(pause * random.uniform(0.5, 1.5))
        begin = time.perf_counter()
        server.request("GET", f"{path}?limit={limit}&sort_order=TIMESTAMP_DESC")
        answer = server.getresponse()
        body = answer.read()
        times.append(1000 * (time.perf_counter() - begin))
        assert answer.status == 200
        assert len(json.loads(body)["items"]) == limit
    server.close()
    return times


@pytest.mark.parametrize("pause", [0.1, 0.0], ids=["ten-a-second", "without-a-pause"])
def test_search_with_pollers(server, database, table, pause):
    fill(database, ROWS, "2026-01-01")
    path = "/api/bash/bash_events/search"

    alone = poll(server.port, path)
    with ThreadPoolExecutor(POLLERS) as pool:
        polled = pool.map(lambda _: poll(server.port, path, pause), range(POLLERS))
        times = sorted(itertools.chain.from_iterable(polled))

    each = f"{POLLERS} pollers, {pause} s between two looks"
    table(f"search, {ROWS:,} rows, alone: median ms", f"{statistics.median(alone):.1f}")
    table(f"{each}: median ms", f"{statistics.median(times):.1f}")
    table(f"{each}: p95 ms", f"{times[int(len(times) * 0.95)]:.1f}", "< 50")


WRITING = """
import json, signal, sqlite3, sys, time

waits, ended = [], []
signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
database = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
database.execute("PRAGMA synchronous=NORMAL")
while not ended:
    time.sleep(0.01)
    begin = time.perf_counter()
    database.execute("BEGIN IMMEDIATE")
    database.execute("UPDATE bashevents_bashevent SET size = size WHERE id = 1")
    database.execute("COMMIT")
    waits.append(1000 * (time.perf_counter() - begin))
print(json.dumps(waits))
"""
"""Another process, which writes a small row again and again: how long each waited, in ms."""


class Asking(threading.Thread):
    """Writes through the server: a command whose events are stored. Milliseconds of each."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.times, self.ended = server, [], threading.Event()

    def run(self):
        while not self.ended.wait(0.05):
            begin = time.perf_counter()
            answer = self.server.http.post("/api/bash/start_bash_command", json={"command": "true"})
            self.times.append(1000 * (time.perf_counter() - begin))
            assert answer.status_code == 200, answer.text


def test_prune_beside_writers(server, database, table):
    fill(database, OLD_EVENTS, "2026-01-01")
    file = database_file(server.root)
    before = file.stat().st_size
    writing = subprocess.Popen([sys.executable, "-c", WRITING, file], stdout=subprocess.PIPE)
    asking = Asking(server)
    asking.start()

    begin = time.perf_counter()
    given = {**os.environ, "OH_PERSISTENCE_DIR": str(data_directory(server.root)), "OH_SECRET_KEY": "bench"}
    given.pop("DJANGO_SETTINGS_MODULE", None)
    pruned = subprocess.run(
        [sys.executable, MANAGE, "prune_bash_events", "--older-than", "7d"],
        env=given,
        capture_output=True,
        text=True,
        check=True,
    )
    took = time.perf_counter() - begin
    asking.ended.set()
    asking.join()
    writing.terminate()
    waits = sorted(json.loads(writing.communicate()[0]))

    assert f"{OLD_EVENTS:,}".replace(",", "") in pruned.stdout.replace(",", "")
    table(f"prune of {OLD_EVENTS:,} events beside two writers: s", f"{took:.0f}")
    table("rows a second", f"{OLD_EVENTS / took:,.0f}")
    times = sorted(asking.times)
    table(f"another process's {len(waits):,} writes: p99 ms", f"{waits[int(len(waits) * 0.99)]:.1f}")
    table("the slowest of its writes: ms", f"{waits[-1]:.1f}", "< 200")
    table(f"{len(times):,} commands started: p99 ms", f"{times[int(len(times) * 0.99)]:.1f}")
    table("the slowest command started: ms", f"{times[-1]:.1f}")
    table("file: MB before, after", f"{before / 1e6:.0f}, {file.stat().st_size / 1e6:.0f}")
