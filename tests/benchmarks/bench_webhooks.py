"""What webhooks promise, measured: runs as quick beside dead receivers as without, and nothing lost.

Prints a table; nothing here fails for being slow, but for a lost, doubled or misplaced event it does.
Run it on a quiet machine: make bench ARGS="-k webhooks". It takes four minutes.
"""

import datetime
import socket
import time

import psutil
import pytest

from tests.contract.dialogue import Dialogue, finish, thinking
from tests.support.receiver import Receiver
from tests.support.server import OwnServer
from tests.support.waiting import wait_until

ROUNDS, STEPS = 15, 25
AWAY_SECONDS, CONVERSATIONS, EVENTS = 120, 10, 5000


@pytest.fixture(scope="module")
def receiver():
    made = Receiver()
    yield made
    made.close()


@pytest.fixture(scope="module")
def silent():
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Callable: a server with these webhooks."""
    started = []

    def _start(name, *addresses, **options):
        hooks = {f"OH_WEBHOOKS_{n}_BASE_URL": address for n, address in enumerate(addresses)}
        server = OwnServer(tmp_path_factory.mktemp(name), OH_SECRET_KEY="bench", **hooks, **options)
        started.append(server)
        return server.start().wait_ready()

    yield _start
    for server in started:
        server.stop()


@pytest.fixture
def open_on(llm_url, tmp_path):
    """Callable: a conversation on a server that runs through ``steps`` thoughts."""
    llm = {"usage_id": "bench", "model": "openai/fake", "base_url": f"{llm_url}/v1", "api_key": "k"}
    agent = {"kind": "Agent", "llm": llm, "include_default_tools": ["FinishTool", "ThinkTool"]}

    def _open(server, steps, **more):
        script = [*thinking(steps, **more), finish()]
        return Dialogue.open(server.http, llm_url, agent, tmp_path, *script)

    return _open


def seconds_of(log):
    """From the first to the last event of a run, by their own times."""
    times = [datetime.datetime.fromisoformat(event["timestamp"]) for event in log]
    return (max(times) - min(times)).total_seconds()


def shown(values, share):
    ordered = sorted(values)
    return f"{1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]:.0f} ms"


def test_runs_beside_receivers_dead_and_alive(start, open_on, receiver, silent, table):
    refusing = "http://127.0.0.1:9"
    servers = {
        "no webhook": start("none"),
        "one that answers": start("alive", receiver.url, OH_WEBHOOKS_0_FLUSH_DELAY="0.5"),
        "one that refuses connections": start("refusing", refusing, OH_WEBHOOKS_0_RETRY_DELAY="1"),
        "one that never answers": start("silent", silent),
    }
    runs, starts = {name: [] for name in servers}, {name: [] for name in servers}
    for number in range(ROUNDS + 1):
        for name in [*servers][number % 4 :] + [*servers][: number % 4]:  # none always comes first
            server = servers[name]
            begin = time.perf_counter()
            conversation = open_on(server, STEPS)
            took = time.perf_counter() - begin
            log = conversation.wait_finished(timeout=60)
            if number:  # the first run of a server imports much
                starts[name].append(took)
                runs[name].append(seconds_of(log))
    for name in servers:
        table(f"run of {STEPS} steps, {name}: median", shown(runs[name], 0.5), "as without")
        table(f"run of {STEPS} steps, {name}: quickest", shown(runs[name], 0))
        table(f"start of a conversation, {name}: median", shown(starts[name], 0.5), "as without")

    assert all(len(found) == ROUNDS for found in runs.values())


def test_a_receiver_that_is_away_for_two_minutes_while_5000_events_happen(start, open_on, receiver, table):
    receiver.posts.clear()
    away_until = time.monotonic() + AWAY_SECONDS + 3600
    receiver.answer = lambda post: (200 if time.monotonic() > away_until else 503, {})
    server = start("away", receiver.url, OH_WEBHOOKS_0_FLUSH_DELAY="1", OH_MAX_CONCURRENT_RUNS="10")
    process = psutil.Process(server.process.pid)
    before, begin = process.memory_info().rss, time.monotonic()
    away_until = begin + AWAY_SECONDS
    steps = EVENTS // CONVERSATIONS // 3 + 5  # a step leaves an action, its result and the statistics
    conversations = [open_on(server, steps) for _ in range(CONVERSATIONS)]
    logs = [conversation.wait_finished(timeout=AWAY_SECONDS * 2) for conversation in conversations]
    table("events", str(sum(map(len, logs))), f">= {EVENTS}")
    table("they took", f"{time.monotonic() - begin:.0f} s")
    failed = sum(post.status == 503 for post in list(receiver.posts))
    table("posts answered with 503 so far", str(failed))
    wait_until(lambda: time.monotonic() > away_until, AWAY_SECONDS * 2, 0.5)
    for conversation, log in zip(conversations, logs, strict=True):
        receiver.wait_events(conversation, log, timeout=400)
    table("from the receiver's return to the last event", f"{time.monotonic() - away_until:.1f} s")
    accepted = sum(post.status == 200 for post in list(receiver.posts))
    table("posts that brought them", str(accepted))
    table("resident memory, before and after", f"{before >> 20}, {process.memory_info().rss >> 20} MiB")

    for conversation, log in zip(conversations, logs, strict=True):
        received = [e["id"] for e in receiver.events(conversation) if e.get("key") != "full_state"]
        assert received == [event["id"] for event in log]
    assert receiver.overlaps == 0
    assert sum(map(len, logs)) >= EVENTS
