"""Readers of every kind: none is lost an event, none slows another, none leaves anything behind."""

import contextlib
import json
import os
import socket
import time

import psutil
import pytest

from tests.contract.dialogue import finish, say, shell, think
from tests.contract.feed import is_full_state, is_kind


@pytest.fixture
def mute(base_url):
    """Callable: a socket that finishes the handshake and then never reads."""
    opened = []

    def _mute(path):
        host, port = base_url.removeprefix("http://").split(":")
        raw = socket.create_connection((host, int(port)))
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        key = "dGhlIHNhbXBsZSBub25jZQ=="
        raw.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        raw.recv(200)
        opened.append(raw)
        return raw

    yield _mute
    for raw in opened:
        raw.close()


@pytest.mark.slow
def test_readers_that_never_read_slow_nobody(talk, mute, listen, wait_until):
    """Five of them beside a healthy one, while megabytes are produced; interrupt stays prompt."""
    conversation = talk(
        *[shell(f"head -c 900000 /dev/zero | tr '\\0' {letter}; echo") for letter in "abcdefgh"],
        think("over", delay=20),
    )
    path = f"/sockets/events/{conversation.id}?resend_mode=all"
    for _ in range(5):
        mute(path)
    feed = listen(path)
    conversation.wait_for("ObservationEvent", 8, timeout=90)
    log = conversation.events()

    feed.wait(lambda frame: frame.get("id") == log[-1]["id"], 5, "the newest event")
    conversation.wait_llm_call()
    conversation.ok("interrupt")

    assert conversation.status == "paused"
    feed.wait(is_full_state("paused"), 5)


def test_what_was_there_and_what_came_make_what_is_there(talk, listen, wait_until):
    """Rows at the start and frames received are the rows at the end, whenever one joins."""
    conversation = talk(*[think(f"thought {n}", delay=0.02) for n in range(30)], finish())
    feeds = []
    while conversation.status == "running" and len(feeds) < 8:
        feeds.append(listen(f"/sockets/session/{conversation.id}?after_seq=-1"))
        wait_until(lambda feed=feeds[-1]: feed.frames, message="a frame")
    conversation.wait_finished()
    log = [event["id"] for event in conversation.events()]

    for feed in feeds:
        feed.wait(is_full_state("finished"), 20)
        durable = [frame for frame in feed.frames if frame["type"] == "durable"]
        assert [frame["seq"] for frame in durable] == list(range(len(log)))
        assert [frame["event"]["id"] for frame in durable] == log


def test_who_joins_in_the_middle_of_an_answer_hears_each_piece_once(talk, listen, agent_config, wait_until):
    text = " ".join(f"word{n}" for n in range(60))
    agent = {**agent_config, "llm": {**agent_config["llm"], "stream": True}}
    conversation = talk(say(text, chunks=60, gap=0.05), agent=agent)
    feeds = []
    while conversation.status == "running" and len(feeds) < 8:
        feeds.append(listen(f"/sockets/session/{conversation.id}?after_seq=-1"))
        wait_until(lambda feed=feeds[-1]: feed.frames, message="a frame")
    conversation.wait_finished()

    heard = [streamed(feed) for feed in feeds if feed.wait(is_full_state("finished"), 20)]
    joined = [one for one in heard if one != (0, "")]  # one may have come before it began, or after its end
    assert joined == [(1, text)] * len(joined)
    assert len(joined) >= 2


def streamed(feed):
    """How many streams a socket of ``session`` saw begin, and the text they said."""
    pieces = [
        frame["content"] for frame in feed.frames if frame["type"] == "delta" and frame["kind"] == "text"
    ]
    return len([frame for frame in feed.frames if frame["type"] == "item_started"]), "".join(pieces)


def test_a_deep_backlog_is_read_in_order(talk, listen):
    calls = {"tools": [think(f"thought {n}") for n in range(150)]}
    conversation = talk(calls, finish())
    conversation.wait_finished(timeout=60)
    log = [event["id"] for event in conversation.events()]

    feed = listen(f"/sockets/session/{conversation.id}?after_seq=-1")

    feed.wait(is_full_state("finished"), 20)
    durable = [frame["event"]["id"] for frame in feed.frames if frame["type"] == "durable"]
    assert durable == log


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_sockets_that_break_off_leave_nothing(own_server, agent_config, workspace, wait_until):
    """Abrupt disconnects by the hundred: tails, tasks and descriptors are back at the baseline."""
    count = int(os.environ.get("DISCONNECTS", "300"))
    server = own_server(OH_SECRET_KEY="tests-secret-key").wait_ready()
    body = {"agent": agent_config, "workspace": {"working_dir": str(workspace)}, "autotitle": False}
    made = server.http.post("/api/conversations", json=body).json()["id"]
    process = next(p for p in _family(server.process.pid) if "manage.py" in " ".join(p.cmdline()))
    before = process.num_fds()

    for _ in range(count):
        raw = socket.create_connection(("127.0.0.1", server.port))
        raw.sendall(
            f"GET /sockets/events/{made} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        raw.recv(64)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        raw.close()  # a reset, not a goodbye

    wait_until(lambda: process.num_fds() <= before + 5, 30, message="descriptors back at the baseline")
    none_open = 'agentserver_sockets_open{kind="events"} 0.0'
    wait_until(lambda: none_open in server.http.get("/metrics").text, 30, message="slots given back")
    assert server.http.get(f"/api/conversations/{made}").status_code == 200


def _family(pid):
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def test_an_idle_socket_hears_the_next_event(talk, listen, wait_until):
    conversation = talk()
    feed = listen(f"/sockets/events/{conversation.id}")
    feed.wait(is_full_state("idle"))
    quiet = time.monotonic() + 12  # longer than a tick, and than redis-py's own time-out
    wait_until(lambda: time.monotonic() > quiet, 20, message="a quiet while")

    conversation.send("hello", run=False)

    feed.wait(is_kind("MessageEvent"), 5)
    assert len([frame for frame in feed.frames if frame["kind"] == "MessageEvent"]) == 1


@pytest.mark.parametrize("text", ["a\x00b", "half \ud83d surrogate", "ünïcödé 🎉" * 1000])
def test_any_text_passes_through_rest_and_sockets(talk, http, listen, text):
    conversation = talk()
    feed = listen(f"/sockets/events/{conversation.id}")
    body = json.dumps({"role": "user", "content": [{"type": "text", "text": text}]})

    answer = http.post(
        f"{conversation.path}/events", content=body, headers={"Content-Type": "application/json"}
    )

    assert answer.status_code == 200, answer.text
    frame = feed.wait(is_kind("MessageEvent"))
    (event,) = conversation.of_kind("MessageEvent")
    assert frame["llm_message"]["content"] == event["llm_message"]["content"]
    with contextlib.suppress(KeyError):
        assert event["llm_message"]["content"][0]["text"][:1] == text[:1]


def test_a_message_of_many_megabytes_is_stored_and_served_and_too_much_is_refused(talk, http):
    conversation = talk()
    text = "x" * (10 * 1024 * 1024)
    message = {"role": "user", "content": [{"type": "text", "text": text}]}

    assert http.post(f"{conversation.path}/events", json=message).status_code == 200

    (event,) = conversation.of_kind("MessageEvent")
    assert event["llm_message"]["content"][0]["text"] == text
    message["content"][0]["text"] = "x" * (34 * 1024 * 1024)
    answer = http.post(f"{conversation.path}/events", json=message)
    assert answer.status_code == 413
    assert answer.json()["detail"]
