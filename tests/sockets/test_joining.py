"""A reader that joins waits for what a runner elsewhere has said; what comes meanwhile is not lost."""

import json
import time

import pytest

from conversations import streams
from conversations.consumers import SessionConsumer

STARTED = {"type": "item_started", "item_id": "a", "attempt": 0, "kind": "message"}


def delta(order):
    return {
        "type": "delta",
        "item_id": "a",
        "attempt": 0,
        "order": order,
        "kind": "text",
        "content": f"{order}",
    }


@pytest.fixture
def reader(monkeypatch):
    """A consumer that has asked, and a list of the frames it was sent."""
    made, sent = SessionConsumer(), []
    made.query = {}
    made.read_query()
    made._waits_until = time.monotonic() + 60

    async def push(text):
        sent.append(json.loads(text))

    async def none_stored(ids):
        return set()

    monkeypatch.setattr(made, "_push", push)
    monkeypatch.setattr(made, "_stored", none_stored)
    return made, sent


async def test_an_answer_that_begins_while_it_waits_comes_whole(reader):
    made, sent = reader

    assert [await made.transient_frame(frame) for frame in (STARTED, delta(0))] == [None, None]
    await made.transient_frame({"type": streams.SO_FAR, "frames": []})

    assert sent == [STARTED, delta(0)]
    assert json.loads(await made.transient_frame(delta(1))) == delta(1)


async def test_what_the_runner_says_again_comes_once(reader):
    made, sent = reader

    await made.transient_frame(delta(1))
    await made.transient_frame(delta(2))
    await made.transient_frame({"type": streams.SO_FAR, "frames": [STARTED | {"order": 1}, delta(1)]})

    assert [frame.get("content") for frame in sent] == [None, "1", "2"]


async def test_where_no_runner_answers_what_was_held_comes_before_what_follows(reader):
    made, sent = reader
    await made.transient_frame(STARTED)
    made._waits_until = time.monotonic() - 1

    following = await made.transient_frame(delta(0))

    assert sent == [STARTED]
    assert json.loads(following) == delta(0)
