"""What open streams have said so far, for whoever joins in the middle."""

import uuid

import pytest

from agentserver import live
from conversations import streams


@pytest.fixture
def sent(monkeypatch):
    """(group, payload) of everything that was to be shown."""
    shown = []
    monkeypatch.setattr(live, "transient", lambda group, payload: shown.append((group, payload)))
    return shown


@pytest.fixture
def speaking():
    """Callable: streams of a conversation of its own, after these steps of the SDK."""
    from openhands.sdk.agent import stream_context as sdk

    def _speaking(*steps):
        made = streams.Streams(f"conversation.{uuid.uuid4().hex}")
        for order, (name, *rest) in enumerate(steps):
            item, attempt = rest[0], 1
            match name:
                case "start":
                    made.forward(sdk.StreamStarted(item, attempt, None))
                case "say" | "think":
                    kind = "text" if name == "say" else "reasoning"
                    made.forward(sdk.StreamDelta(item, attempt, order, kind, rest[1]))
                case "abort":
                    made.forward(sdk.StreamAborted(item, attempt, "reason"))
        return made

    return _speaking


def told(frames):
    return [(frame["type"], frame["item_id"], frame.get("kind"), frame.get("content")) for frame in frames]


def test_all_that_was_said_is_one_delta_of_each_kind(sent, speaking):
    made = speaking(
        ("start", "a"), ("think", "a", "h"), ("say", "a", "on"), ("think", "a", "m"), ("say", "a", "e")
    )

    assert told(made.so_far()) == [
        ("item_started", "a", None, None),
        ("delta", "a", "reasoning", "hm"),
        ("delta", "a", "text", "one"),
    ]
    assert {frame["order"] for frame in made.so_far()[1:]} == {4}
    assert len(sent) == 5


def test_a_new_attempt_begins_anew_and_an_aborted_stream_is_gone(sent, speaking):
    made = speaking(("start", "a"), ("say", "a", "bad"), ("start", "a"), ("start", "b"), ("abort", "b"))

    assert told(made.so_far()) == [("item_started", "a", None, None)]


def test_streams_and_their_texts_are_bounded(sent, speaking, monkeypatch):
    monkeypatch.setattr(streams, "LONGEST", 10)
    made = speaking(*[("start", str(n)) for n in range(9)], *[("say", "8", f"{n:05d}") for n in range(99)])

    frames = made.so_far()

    assert len(frames) == streams.OPEN + 1
    assert frames[-1]["content"] == "… 0009700098"


def test_a_runner_answers_for_what_it_has_in_one_frame(sent, speaking):
    made = speaking(("start", "a"), ("say", "a", "one"))
    del sent[:]

    streams.answer({"streams_of": made._group})
    streams.answer({"streams_of": "conversation.unknown"})

    assert [(group, payload["type"]) for group, payload in sent] == [
        (made._group, streams.SO_FAR),
        ("conversation.unknown", streams.SO_FAR),
    ]
    assert told(sent[0][1]["frames"])[1] == ("delta", "a", "text", "one")
    assert sent[1][1]["frames"] == []


def test_nothing_is_said_by_what_is_not_here():
    assert streams.so_far("conversation.unknown") == []
