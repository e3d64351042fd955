"""What sockets promise, measured: many readers, readers that never read, readers that break off.

Prints a table; nothing here fails for being slow, but for a lost frame it does. Run it on a quiet
machine: make bench ARGS="-k sockets". ``SUBSCRIBERS`` (1,000), ``DISCONNECTS`` (3,000), ``MEGABYTES`` (50).
"""

import asyncio
import json
import os
import re
import resource
import socket
import statistics
import time

import psutil
import pytest
from websockets.asyncio.client import connect

from tests.contract.dialogue import Dialogue, think
from tests.contract.feed import Feed, is_full_state
from tests.support.server import OwnServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(1800)

SUBSCRIBERS = int(os.environ.get("SUBSCRIBERS", "1000"))
DISCONNECTS = int(os.environ.get("DISCONNECTS", "3000"))
MEGABYTES = int(os.environ.get("MEGABYTES", "50"))
MESSAGES = 20
HANDSHAKE = (
    "GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 65536), limit))
    server = OwnServer(tmp_path_factory.mktemp("sockets"), OH_SECRET_KEY="bench")
    yield server.start().wait_ready()
    server.stop()


@pytest.fixture
def talk(server, llm_url, tmp_path):
    llm = {"usage_id": "bench", "model": "openai/fake", "base_url": f"{llm_url}/v1", "api_key": "k"}
    agent = {"kind": "Agent", "llm": llm, "tools": []}
    return lambda *steps, **options: Dialogue.open(server.http, llm_url, agent, tmp_path, *steps, **options)


@pytest.fixture
def memory(server):
    """Callable: megabytes that the server holds."""
    family = [
        psutil.Process(server.process.pid),
        *psutil.Process(server.process.pid).children(recursive=True),
    ]
    process = next(one for one in family if "manage.py" in " ".join(one.cmdline()))
    return lambda: process.memory_info().rss / 1e6


def raw_socket(server, path, **options):
    raw = socket.create_connection(("127.0.0.1", server.port))
    for name, value in options.items():
        raw.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
    raw.sendall(HANDSHAKE.format(path=path, host="127.0.0.1", port=server.port).encode())
    raw.recv(64)
    return raw


async def received(url, count, ready, times):
    """Read until ``count`` messages came; when each did, by its text."""
    async with connect(url, max_size=None, open_timeout=120) as ws:
        ready.release()
        mine = {}
        async for text in ws:
            event = json.loads(text)
            if event.get("kind") == "MessageEvent":
                mine[event["llm_message"]["content"][0]["text"]] = time.monotonic()
            if len(mine) == count:
                times.append(mine)
                return


async def subscribed(conversation, url):
    ready, times, sent, posts = asyncio.Semaphore(0), [], {}, []
    readers = [asyncio.create_task(received(url, MESSAGES, ready, times)) for _ in range(SUBSCRIBERS)]
    for _ in readers:
        await ready.acquire()
    for number in range(MESSAGES):
        text = f"message {number}"
        sent[text] = time.monotonic()
        await asyncio.to_thread(conversation.send, text, run=False)
        posts.append(time.monotonic() - sent[text])
        await asyncio.sleep(1)
    await asyncio.wait_for(asyncio.gather(*readers), 120)
    return sent, times, posts


def test_a_thousand_subscribers(server, talk, table, memory):
    conversation = talk(think("never"), run=False)
    before = memory()

    sent, times, posts = asyncio.run(
        subscribed(conversation, f"ws://127.0.0.1:{server.port}/sockets/events/{conversation.id}")
    )

    lags = sorted(1000 * (mine[text] - at) for mine in times for text, at in sent.items())
    assert len(lags) == SUBSCRIBERS * MESSAGES
    table(
        f"{SUBSCRIBERS:,} subscribers, from the request to a frame: median ms",
        f"{statistics.median(lags):.0f}",
    )
    table("the last of them: p95 ms", f"{lags[int(len(lags) * 0.95)]:.0f}")
    table("the request meanwhile: median ms", f"{1000 * statistics.median(posts):.1f}")
    table("memory a subscriber: kB", f"{1000 * (memory() - before) / SUBSCRIBERS:.0f}")


def test_mute_readers(server, talk, table):
    conversation = talk(think("over", delay=120))
    conversation.wait_llm_call()
    path = f"/sockets/events/{conversation.id}"
    mutes = [raw_socket(server, path, SO_RCVBUF=4096) for _ in range(5)]
    feed = Feed(f"ws://127.0.0.1:{server.port}{path}")
    feed.wait(is_full_state("running"))
    lags = []
    for number in range(MEGABYTES):
        text = f"{number} " + "x" * 1_000_000
        begin = time.monotonic()
        conversation.send(text, run=False)
        seen = wait_until(lambda wanted=text: came(feed, wanted), 60, 0.002, "the frame")
        lags.append(1000 * (seen - begin))
    begin = time.monotonic()
    conversation.ok("interrupt")
    stopped = 1000 * (time.monotonic() - begin)
    feed.close()
    for raw in mutes:
        raw.close()

    table(
        f"{MEGABYTES} MB beside 5 mute readers, request to frame: median ms", f"{statistics.median(lags):.0f}"
    )
    table("the slowest: ms", f"{max(lags):.0f}", "< 1000")
    table("interrupt then: ms", f"{stopped:.0f}", "< 1000")


def came(feed, text):
    """When a frame with this text was seen, None until then."""
    newest = [f for f in feed.frames[-3:] if f.get("kind") == "MessageEvent"]
    found = any(frame["llm_message"]["content"][0]["text"] == text for frame in newest)
    return time.monotonic() if found else None


def open_sockets(server):
    found = re.findall(
        r'^agentserver_sockets_open\{kind="events"\} (\S+)$', server.http.get("/metrics").text, re.M
    )
    return float(found[0])


def test_abrupt_disconnects(server, talk, table, memory):
    conversation = talk(think("never"), run=False)
    path = f"/sockets/events/{conversation.id}"

    def break_off(count):
        for _ in range(count):
            raw = raw_socket(server, path)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            raw.close()  # a reset, not a goodbye

    break_off(200)
    before = memory()
    begin = time.monotonic()
    break_off(DISCONNECTS)
    took = time.monotonic() - begin
    wait_until(lambda: open_sockets(server) == 0, 60, message="no socket open")

    table(f"{DISCONNECTS:,} resets: s", f"{took:.1f}")
    table("memory before and after: MB", f"{before:.0f}, {memory():.0f}", "the same")
