"""What the foundation promises, measured: start, append, interrupt, and requests beside ten runs.

Prints a table of medians; nothing here fails for being slow. Run it on a quiet machine: make bench
"""

import statistics
import time

import httpx
import pytest

from tests.contract.dialogue import Dialogue, say, shell
from tests.support.server import OwnServer
from tests.support.waiting import wait_until

ROUNDS = 5


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = OwnServer(tmp_path_factory.mktemp("bench"), OH_SECRET_KEY="bench", OH_PRELOAD_TOOLS="true")
    yield server.start().wait_ready()
    server.stop()


@pytest.fixture
def agent(llm_url):
    llm = {
        "usage_id": "bench",
        "model": "openai/fake",
        "base_url": f"{llm_url}/v1",
        "api_key": "k",
        "num_retries": 0,
    }
    return {"kind": "Agent", "llm": llm, "tools": [{"name": "terminal", "params": {}}]}


def milliseconds(values, share=0.5):
    ordered = sorted(values)
    return f"{1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]:.1f} ms"


def answers(server):
    try:
        return server.http.get("/alive").status_code == 200
    except httpx.HTTPError:
        return False


def test_start(tmp_path_factory, table):
    alive, ready = [], []
    server = OwnServer(tmp_path_factory.mktemp("start"), OH_SECRET_KEY="bench")
    server.start().wait_ready()  # the first start makes the tables
    server.stop()
    for _ in range(3):
        begin = time.monotonic()
        server.launch()
        wait_until(lambda: answers(server), interval=0.01, message="/alive")
        alive.append(time.monotonic() - begin)
        server.wait_ready()
        ready.append(time.monotonic() - begin)
        server.stop()
    table("exec to the first answer of /alive", milliseconds(alive), "< 1500 ms")
    table("exec to /ready", milliseconds(ready), "< 10000 ms")


@pytest.mark.django_db(transaction=True)
def test_append(make_conversation, table):
    from conversations.store import DatabaseFileStore
    from tests.conversations.test_store import event, state

    row = make_conversation()
    row.base_state = state(row.id)
    row.save()
    store, times = DatabaseFileStore.load(row), []
    for number in range(500):
        event_id, payload = event(text="x" * 800)
        begin = time.perf_counter()
        store.write(f"events/event-{number:05d}-{event_id}.json", payload)
        times.append(time.perf_counter() - begin)
    table("one event of 1 KB appended and committed (SQLite)", milliseconds(times), "< 1 ms")


def test_interrupt(server, llm_url, agent, tmp_path, table):
    times = []
    for _ in range(ROUNDS):
        conversation = Dialogue.open(server.http, llm_url, agent, tmp_path, say("never", delay=30))
        conversation.wait_llm_call()
        begin = time.perf_counter()
        conversation.ok("interrupt")
        times.append(time.perf_counter() - begin)
        wait_until(lambda c=conversation: c.llm_calls("cancelled"), 5, message="closed connection")
        conversation.delete()
    table("interrupt of a model call, answered", milliseconds(times), "< 100 ms")


def test_requests_beside_ten_runs(server, llm_url, agent, tmp_path, table):
    steps = [shell(f"echo {n}", delay=0.5) for n in range(12)]
    running = []
    for number in range(10):
        folder = tmp_path / str(number)
        folder.mkdir()
        running.append(Dialogue.open(server.http, llm_url, agent, folder, *steps))
    times = []
    with httpx.Client(base_url=server.url, timeout=30) as client:
        while any(conversation.status == "running" for conversation in running[-1:]):
            begin = time.perf_counter()
            client.get("/health")
            times.append(time.perf_counter() - begin)
    for conversation in running:
        conversation.wait_finished(timeout=60)
        conversation.delete()
    table("GET /health beside 10 runs, median", milliseconds(times), "-")
    table("GET /health beside 10 runs, p99", milliseconds(times, 0.99), "< 100 ms")
    assert statistics.median(times) > 0
