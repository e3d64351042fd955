"""WebSockets: ``/sockets/events/{id}``, ``/sockets/session/{id}`` and ``/sockets/bash-events``."""

import datetime
import itertools
import json
import urllib.parse
import uuid

import pytest

from tests.contract.conftest import ConversationDriver, new_id, plan, user_message, wait_until
from tests.contract.feed import assert_refused, is_full_state, is_kind, is_type, label, without_nulls

UNKNOWN = "00000000-0000-0000-0000-000000000001"
SESSION = pytest.param("session", marks=pytest.mark.since_1_23)
BAD_MESSAGES = [
    "this is not JSON",
    "",
    '{"role": "user"',
    None,
    [1, 2],
    {"foo": 1},
    {"role": "user", "content": 7},
    {"role": "assistant", "content": [{"type": "text", "text": "not from a user"}]},
    b"\x00\x01",
]
BAD_COMMANDS = ["not JSON", {"cmd": "ls"}, ["ls"], {"command": 7}, b"\x00"]


def thoughts(count, **step):
    """Steps that run no tool of consequence, each different."""
    return [{"tool": "think", "args": {"thought": f"thought {i}"}, **step} for i in range(count)]


def many_at_once(count, steps=1):
    """Steps that each call ``count`` tools in one go: a fast source of events."""
    numbers = itertools.count()
    return [
        {"tools": [{"tool": "think", "args": {"thought": f"thought {next(numbers)}"}} for _ in range(count)]}
        for _ in range(steps)
    ]


def finished(feed, timeout=30.0):
    """Wait until the server has told a client that the run is over."""
    return feed.wait(is_full_state("finished"), timeout, "the state after the run")


def ids(events):
    return [event["id"] for event in events]


def is_state_update(event):
    return event["kind"] == "ConversationStateUpdateEvent"


def logged(feed, log, without_state_updates=False):
    """The ids of the frames that are events of ``log``, in the order received."""
    known = {e["id"] for e in log if not (without_state_updates and is_state_update(e))}
    return [frame["id"] for frame in list(feed.frames) if frame["id"] in known]


def answer(feed, message, check):
    """Send a message; the first new frame that ``check`` is true of."""
    before = len(feed.frames)
    feed.send(message)
    return feed.wait(lambda f: f in feed.frames[before:] and check(f), message=f"the answer to {message!r}")


@pytest.fixture(scope="module")
def settled(http, agent_config, tmp_path_factory):
    """A conversation with a history, shared by tests that only read it or add a message."""
    response = http.post(
        "/api/conversations",
        json={
            "agent": agent_config,
            "initial_message": user_message(plan(*thoughts(3)), run=True),
            "workspace": {"kind": "LocalWorkspace", "working_dir": str(tmp_path_factory.mktemp("settled"))},
        },
    )
    conversation = ConversationDriver(http, response.json())
    conversation.wait_status("finished")
    yield conversation
    http.delete(conversation.path)


@pytest.fixture
def streaming(agent_config):
    """The agent with token streaming switched on."""
    return {**agent_config, "llm": {**agent_config["llm"], "stream": True}}


@pytest.fixture
def events_of(listen):
    """Callable that opens the events socket of a conversation."""
    return lambda conversation, query="": listen(f"/sockets/events/{conversation.id}{query}")


@pytest.fixture
def session_of(listen):
    """Callable that opens the session socket of a conversation."""
    return lambda conversation, query="": listen(f"/sockets/session/{conversation.id}{query}")


@pytest.fixture
def bash_feed(listen):
    return lambda query="": listen(f"/sockets/bash-events{query}")


# --- events: what a client gets on connecting --------------------------------------------------


def test_the_first_frame_is_the_full_state(start, events_of):
    conversation = start()
    feed = events_of(conversation)
    frame = feed.wait(lambda _: True)
    assert frame["kind"] == "ConversationStateUpdateEvent"
    assert (frame["key"], frame["source"]) == ("full_state", "environment")
    state = frame["value"]
    assert state["id"] == conversation.id
    assert state["execution_status"] == "idle"
    assert {"agent", "workspace", "stats", "tags", "confirmation_policy"} <= set(state)
    assert uuid.UUID(frame["id"]) and datetime.datetime.fromisoformat(frame["timestamp"])


def test_the_full_state_shows_no_secret(start, events_of, llm_config):
    conversation = start(secrets={"TOKEN": {"kind": "StaticSecret", "value": "value-of-token"}})
    frame = events_of(conversation).wait(is_full_state())
    text = json.dumps(frame)
    assert frame["value"]["agent"]["llm"]["api_key"]
    assert llm_config["api_key"] not in text and "value-of-token" not in text


def test_the_full_state_is_of_the_moment_of_connecting(settled, events_of):
    status = settled.status
    assert status != "running"
    assert is_full_state(status)(events_of(settled).wait(lambda _: True))


def test_without_resend_no_history_is_sent(settled, events_of):
    feed = events_of(settled)
    feed.wait(is_full_state())
    feed.send("not JSON")
    feed.wait(is_kind("ServerErrorEvent"))
    assert [label(f) for f in feed.frames] == ["ConversationStateUpdateEvent:full_state", "ServerErrorEvent"]


@pytest.mark.parametrize("query", ["?resend_mode=all", "?resend_all=true"])
def test_resend_all_sends_the_whole_history_once_and_in_order(settled, events_of, query):
    """``resend_all`` is the deprecated spelling."""
    log = settled.events()
    feed = events_of(settled, query)
    feed.wait(lambda f: f["id"] == log[-1]["id"])
    assert is_full_state()(feed.frames[0])
    assert ids(feed.frames[1:]) == ids(log)
    assert [without_nulls(f) for f in feed.frames[1:]] == [without_nulls(e) for e in log]


def test_history_longer_than_a_page_is_resent_whole(start, events_of):
    conversation = start(plan(*many_at_once(55)))
    conversation.wait_status("finished")
    log = conversation.events()
    assert len(log) > 110
    feed = events_of(conversation, "?resend_mode=all")
    feed.wait(lambda f: f["id"] == log[-1]["id"])
    assert logged(feed, log) == ids(log)


@pytest.mark.parametrize(
    "zone",
    [
        pytest.param(None, id="local time of the server"),
        pytest.param(datetime.UTC, id="UTC"),
        pytest.param(datetime.timezone(datetime.timedelta(hours=5, minutes=30)), id="+05:30"),
    ],
)
def test_resend_since_sends_the_events_from_a_moment_on(settled, events_of, zone):
    """``after_timestamp`` is inclusive; without a zone it is the server's local time."""
    log = settled.events()
    since = log[4]["timestamp"]
    moment = datetime.datetime.fromisoformat(since)
    if zone:
        moment = moment.astimezone(zone)
    query = urllib.parse.urlencode({"resend_mode": "since", "after_timestamp": moment.isoformat()})
    feed = events_of(settled, f"?{query}")
    feed.wait(lambda f: f["id"] == log[-1]["id"])
    expected = [e["id"] for e in log if e["timestamp"] >= since]
    assert len(expected) < len(log)
    assert logged(feed, log) == expected


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("?resend_mode=since", id="no moment given"),
        pytest.param("?resend_mode=since&after_timestamp=2999-01-01T00:00:00Z", id="future"),
        pytest.param("?after_timestamp=2001-01-01T00:00:00Z", id="no mode given"),
    ],
)
def test_resend_since_with_nothing_to_send_just_goes_live(settled, events_of, query):
    log = settled.events()
    feed = events_of(settled, query)
    feed.wait(is_full_state())
    settled.send("one more", run=False)
    feed.wait(is_kind("MessageEvent"))
    assert logged(feed, log) == []


@pytest.mark.parametrize(
    "query",
    [
        "resend_mode=sometimes",
        "resend_mode=",
        "resend_mode=since&after_timestamp=yesterday",
        "resend_all=perhaps",
    ],
)
def test_a_query_that_makes_no_sense_is_refused(settled, listen, query):
    assert_refused(listen, f"/sockets/events/{settled.id}?{query}", codes=(1008, 4000, 4022))


@pytest.mark.parametrize("kind", ["events", SESSION])
@pytest.mark.parametrize("query", ["", "?resend_mode=all&after_seq=-1"])
def test_an_unknown_conversation_is_closed_with_4004(listen, kind, query):
    """4004 tells a client not to try again, so the socket must be accepted first."""
    feed = listen(f"/sockets/{kind}/{UNKNOWN}{query}")
    assert feed.wait_closed() == 4004
    assert feed.frames == []


@pytest.mark.parametrize(
    "path", ["events/not-an-id", "session/not-an-id", "nothing-here", "events", "session"]
)
def test_a_path_that_is_no_socket_is_refused(listen, path):
    assert_refused(listen, f"/sockets/{path}", codes=(4004,))


def test_a_deleted_conversation_is_closed_with_4004(start, http, events_of):
    conversation = start()
    assert http.delete(conversation.path).status_code == 200
    feed = events_of(conversation)
    assert feed.wait_closed() == 4004


@pytest.mark.beyond  # the reference leaves these sockets open, mute for ever
@pytest.mark.parametrize("kind", ["events", SESSION])
def test_deleting_a_conversation_closes_its_sockets_with_4004(start, http, listen, kind):
    conversation = start()
    feed = listen(f"/sockets/{kind}/{conversation.id}")
    feed.wait(is_full_state())
    assert http.delete(conversation.path).status_code == 200
    assert feed.wait_closed() == 4004


# --- events: what a client gets live -----------------------------------------------------------


def test_every_event_of_a_run_is_delivered_once(start, events_of):
    conversation = start()
    feed = events_of(conversation)
    feed.wait(is_full_state("idle"))
    conversation.send(plan(*thoughts(5)))
    finished(feed)
    log = conversation.events()
    assert [e["kind"] for e in log].count("ActionEvent") == 6
    assert sorted(logged(feed, log)) == sorted(ids(log))


def test_actions_observations_and_messages_arrive_in_the_order_of_the_log(start, events_of):
    conversation = start()
    feed = events_of(conversation)
    feed.wait(is_full_state("idle"))
    conversation.send(plan(*thoughts(8)))
    finished(feed)
    log = conversation.events()
    expected = [e["id"] for e in log if not is_state_update(e)]
    assert logged(feed, log, without_state_updates=True) == expected


def test_a_live_event_is_the_event_that_rest_serves(start, events_of):
    conversation = start()
    feed = events_of(conversation)
    feed.wait(is_full_state("idle"))
    conversation.send(plan({"tool": "terminal", "args": {"command": "echo héllo"}}))
    finished(feed)
    stored = {e["id"]: without_nulls(e) for e in conversation.events()}
    live = {f["id"]: without_nulls(f) for f in feed.frames if f["id"] in stored}
    assert live == stored


def test_status_changes_are_announced_as_they_happen(start, events_of):
    conversation = start()
    feed = events_of(conversation)
    feed.wait(is_full_state("idle"))
    conversation.send(plan({"tool": "finish", "args": {"message": "done"}}))
    finished(feed)
    updates = [f["value"] for f in feed.frames if f.get("key") == "execution_status"]
    assert updates == ["running", "finished"]


def test_after_a_run_the_full_state_is_sent_last(start, events_of):
    """Clients take this frame, and no earlier one, as the end of the run."""
    conversation = start()
    feed = events_of(conversation)
    feed.wait(is_full_state("idle"))
    conversation.send(plan(*thoughts(2)))
    frame = finished(feed)
    log = conversation.events()
    assert not [f for f in feed.frames if is_full_state("running")(f)]
    assert frame["id"] not in ids(log)
    assert set(logged(feed, log)) == set(ids(log)), "an event came after the final state"
    assert feed.frames.index(frame) > max(feed.frames.index(f) for f in feed.frames if f["id"] in ids(log))


@pytest.mark.parametrize("action", ["pause", "interrupt"])
def test_stopping_a_run_is_announced_with_the_full_state(start, events_of, llm_stats, action):
    conversation = start()
    feed = events_of(conversation)
    feed.wait(is_full_state("idle"))
    conversation.send(plan(*thoughts(30, delay=0.3)))
    feed.wait(is_kind("ActionEvent"))
    assert conversation.action(action).status_code == 200
    feed.wait(is_full_state("paused"), message="the state after the stop")
    assert "paused" in [f["value"] for f in feed.frames if f.get("key") == "execution_status"]
    if action == "interrupt":
        feed.wait(is_kind("InterruptEvent"))


def test_every_subscriber_gets_the_same_events(start, events_of):
    conversation = start()
    feeds = [events_of(conversation) for _ in range(4)]
    for feed in feeds:
        feed.wait(is_full_state("idle"))
    conversation.send(plan(*thoughts(3)))
    for feed in feeds:
        finished(feed)
    log = conversation.events()
    for feed in feeds:
        assert sorted(logged(feed, log)) == sorted(ids(log))


def test_a_socket_carries_only_its_own_conversation(start, events_of):
    one, other = start(), start()
    feed = events_of(one)
    feed.wait(is_full_state("idle"))
    other.send(plan(*thoughts(2)))
    other.wait_status("finished")
    one.send(plan({"tool": "finish", "args": {"message": "done"}}))
    finished(feed)
    assert not set(ids(feed.frames)) & set(ids(other.events()))


@pytest.mark.parametrize("how", ["close", "cut"])
def test_a_client_that_goes_away_does_not_disturb_the_run(start, events_of, how):
    conversation = start()
    leaving, staying = events_of(conversation), events_of(conversation)
    for feed in (leaving, staying):
        feed.wait(is_full_state("idle"))
    conversation.send(plan(*thoughts(6, delay=0.05)))
    leaving.wait(is_kind("ActionEvent"))
    getattr(leaving, how)()
    finished(staying)
    log = conversation.events()
    assert sorted(logged(staying, log)) == sorted(ids(log))
    assert conversation.status == "finished"


# --- events: what a client may send ------------------------------------------------------------


def test_a_user_message_starts_a_run(start, events_of, workspace):
    conversation = start()
    feed = events_of(conversation)
    feed.wait(is_full_state("idle"))
    feed.say(plan({"tool": "terminal", "args": {"command": "echo here > proof.txt"}}))
    finished(feed)
    assert (workspace / "proof.txt").read_text().strip() == "here"
    message = next(e for e in conversation.events() if e["kind"] == "MessageEvent")
    assert message["source"] == "user"


def test_a_user_message_is_answered_on_every_turn(start, events_of):
    conversation = start()
    feed = events_of(conversation)
    for turn in range(1, 4):
        feed.say(plan({"say": f"answer {turn}"}))
        wait_until(
            lambda: sum(map(is_full_state("finished"), list(feed.frames))) == turn,
            message=f"end of turn {turn}",
        )
    answers = [
        e["llm_message"]["content"][0]["text"]
        for e in conversation.events()
        if e["kind"] == "MessageEvent" and e["source"] == "agent"
    ]
    assert answers == ["answer 1", "answer 2", "answer 3"]


def test_a_bad_message_is_answered_with_an_error_and_the_socket_stays(start, events_of):
    conversation = start()
    feed, other = events_of(conversation), events_of(conversation)
    for each in (feed, other):
        each.wait(is_full_state("idle"))
    for message in BAD_MESSAGES:
        error = answer(feed, message, is_kind("ServerErrorEvent"))
        assert error["code"] and error["detail"] and error["source"] == "environment"
    feed.say(plan({"tool": "finish", "args": {"message": "still here"}}))
    for each in (feed, other):
        finished(each)
    assert "ServerErrorEvent" not in [label(f) for f in other.frames], "not for other clients"
    assert "ServerErrorEvent" not in conversation.kinds(), "not part of the history"


def test_an_auth_message_on_an_open_socket_is_ignored(start, events_of):
    """A client that always sends one must not be punished by a server without keys."""
    conversation = start()
    feed = events_of(conversation)
    feed.send({"type": "auth", "session_api_key": "whatever"})
    feed.say(plan({"tool": "finish", "args": {"message": "done"}}))
    finished(feed)
    assert "ServerErrorEvent" not in [label(f) for f in feed.frames]
    assert conversation.kinds().count("MessageEvent") == 1


# --- events: streaming -------------------------------------------------------------------------

TEXT = "Streaming sends each piece of this sentence as soon as it is there."


def test_streamed_pieces_come_before_the_message_they_belong_to(start, events_of, streaming):
    conversation = start(agent=streaming)
    feed = events_of(conversation)
    feed.wait(is_full_state("idle"))
    feed.say(plan({"say": TEXT, "chunks": 5, "gap": 0.02}))
    finished(feed)
    deltas = [f for f in feed.frames if f["kind"] == "StreamingDeltaEvent"]
    assert "".join(d.get("content") or "" for d in deltas) == TEXT
    assert sum(bool(d.get("content")) for d in deltas) >= 5
    assert {d["source"] for d in deltas} == {"agent"}
    message = feed.wait(lambda f: f["kind"] == "MessageEvent" and f["source"] == "agent")
    assert max(map(feed.frames.index, deltas)) < feed.frames.index(message)


def test_streamed_pieces_arrive_while_the_model_is_still_talking(start, events_of, streaming, llm_stats):
    conversation = start(agent=streaming)
    feed = events_of(conversation)
    feed.say(plan({"say": TEXT, "chunks": 40, "gap": 0.2}))
    feed.wait(lambda f: f["kind"] == "StreamingDeltaEvent" and f.get("content"))
    assert llm_stats()["in_flight"] > 0
    assert conversation.action("interrupt").status_code == 200


def test_streamed_pieces_are_not_part_of_the_history(start, events_of, streaming):
    conversation = start(plan({"say": TEXT}), agent=streaming)
    conversation.wait_status("finished")
    assert "StreamingDeltaEvent" not in conversation.kinds()
    log = conversation.events()
    feed = events_of(conversation, "?resend_mode=all")
    feed.wait(lambda f: f["id"] == log[-1]["id"])
    assert "StreamingDeltaEvent" not in [label(f) for f in feed.frames]


def test_without_streaming_there_are_no_pieces(start, events_of):
    conversation = start()
    feed = events_of(conversation)
    feed.say(plan({"say": TEXT}))
    finished(feed)
    assert "StreamingDeltaEvent" not in [label(f) for f in feed.frames]


# --- events: joining while much is going on ----------------------------------------------------


def join_during_a_run(conversation, open_feed, count=6):
    """A run of about 100 events, joined ``count`` times meanwhile; (feeds, log) when it is over."""
    first = open_feed()
    first.wait(lambda _: True)
    conversation.send(plan(*many_at_once(8, steps=5)))
    first.wait(is_kind("ActionEvent"))
    feeds = [open_feed() for _ in range(count)]
    for feed in [first, *feeds]:
        finished(feed)
    return [first, *feeds], conversation.events()


def test_joining_with_resend_during_a_run_misses_nothing(start, events_of):
    conversation = start()
    feeds, log = join_during_a_run(conversation, lambda: events_of(conversation, "?resend_mode=all"))
    for feed in feeds:
        assert set(logged(feed, log)) == set(ids(log))


@pytest.mark.beyond  # the reference sends what happens during the resend twice and too early
def test_joining_with_resend_during_a_run_repeats_nothing_and_keeps_the_order(start, events_of):
    conversation = start()
    feeds, log = join_during_a_run(conversation, lambda: events_of(conversation, "?resend_mode=all"))
    for feed in feeds:
        assert logged(feed, log) == ids(log)


# --- session -----------------------------------------------------------------------------------


def durables(feed):
    return [frame for frame in list(feed.frames) if frame["type"] == "durable"]


def seqs(feed):
    return [frame["seq"] for frame in durables(feed)]


def durable_ids(feed):
    return [frame["event"]["id"] for frame in durables(feed)]


@pytest.mark.since_1_23
def test_session_starts_with_a_sync_frame_then_the_state(start, session_of):
    feed = session_of(start())
    feed.wait(is_full_state("idle"))
    sync, state = feed.frames
    assert sync == {"type": "sync"}, "no history asked for, none there"
    assert state["type"] == "transient" and "seq" not in state


@pytest.mark.since_1_23
def test_session_sync_tells_the_range_that_follows(settled, session_of):
    last = len(settled.events()) - 1
    for after in (-1, 2, last):
        feed = session_of(settled, f"?after_seq={after}")
        assert feed.wait(is_type("sync")) == {"type": "sync", "from_seq": after, "through_seq": last}
    assert session_of(settled).wait(is_type("sync")) == {"type": "sync", "through_seq": last}


@pytest.mark.parametrize("after", [-1, 0, 4])
@pytest.mark.since_1_23
def test_session_replays_what_is_after_the_cursor(settled, session_of, after):
    log = settled.events()
    feed = session_of(settled, f"?after_seq={after}")
    feed.wait(is_full_state())
    assert seqs(feed) == list(range(after + 1, len(log)))
    assert durable_ids(feed) == ids(log)[after + 1 :]
    assert [without_nulls(f["event"]) for f in durables(feed)] == [without_nulls(e) for e in log[after + 1 :]]
    assert [f["type"] for f in feed.frames] == ["sync", *["durable"] * len(durables(feed)), "transient"], (
        "the state comes after the history"
    )


@pytest.mark.parametrize("query", ["", "?after_seq=100000"])
@pytest.mark.since_1_23
def test_session_without_anything_to_replay_goes_live(settled, session_of, query):
    count = len(settled.events())
    feed = session_of(settled, query)
    feed.wait(is_full_state())
    assert durables(feed) == []
    settled.send("one more", run=False)
    feed.wait(lambda f: f["type"] == "durable" and is_kind("MessageEvent")(f))
    assert seqs(feed)[0] == count


@pytest.mark.since_1_23
def test_session_numbers_live_events_by_their_place_in_the_log(start, session_of):
    conversation = start()
    feed = session_of(conversation)
    feed.say(plan(*thoughts(4)))
    finished(feed)
    log = conversation.events()
    assert seqs(feed) == list(range(len(log)))
    assert durable_ids(feed) == ids(log)


@pytest.mark.since_1_23
def test_session_resumes_exactly_where_a_lost_connection_ended(start, session_of):
    conversation = start()
    feed = session_of(conversation, "?after_seq=-1")
    feed.say(plan(*thoughts(12, delay=0.03)))
    seen = []
    for _ in range(3):
        feed.wait(lambda f: f["type"] == "durable" and is_kind("ActionEvent")(f))
        feed.cut()
        seen += zip(seqs(feed), durable_ids(feed))
        feed = session_of(conversation, f"?after_seq={seen[-1][0]}")
    finished(feed)
    seen += zip(seqs(feed), durable_ids(feed))
    assert seen == list(enumerate(ids(conversation.events())))


@pytest.mark.since_1_23
def test_session_joined_during_a_run_has_no_gap_no_repeat_and_keeps_order(start, session_of):
    conversation = start()
    feeds, log = join_during_a_run(conversation, lambda: session_of(conversation, "?after_seq=-1"))
    for feed in feeds:
        assert durable_ids(feed) == ids(log)
        assert seqs(feed) == list(range(len(log)))


@pytest.mark.since_1_23
def test_session_answers_a_bad_message_with_an_error_frame(start, session_of):
    conversation = start()
    feed = session_of(conversation)
    for message in BAD_MESSAGES:
        error = answer(feed, message, is_type("error"))
        assert error["code"] and error["detail"]
    feed.say(plan({"tool": "finish", "args": {"message": "still here"}}))
    finished(feed)
    assert "ServerErrorEvent" not in conversation.kinds()


@pytest.mark.parametrize("after", ["x", "", "1.5"])
@pytest.mark.since_1_23
def test_session_refuses_a_cursor_that_is_no_number(settled, listen, after):
    assert_refused(listen, f"/sockets/session/{settled.id}?after_seq={after}", codes=(1008, 4000, 4022))


def stream_frames(feed, item_id):
    return [frame for frame in list(feed.frames) if frame.get("item_id") == item_id]


@pytest.mark.parametrize(
    "step, kind",
    [
        pytest.param({"say": TEXT}, "MessageEvent", id="message"),
        pytest.param(
            {"say": TEXT, "tool": "think", "args": {"thought": "hm"}}, "ActionEvent", id="tool call"
        ),
    ],
)
@pytest.mark.since_1_23
def test_session_a_stream_opens_an_item_that_its_event_closes(start, session_of, streaming, step, kind):
    """The item's id is the id the event is going to have."""
    conversation = start(agent=streaming)
    feed = session_of(conversation)
    feed.say(plan({**step, "chunks": 6, "gap": 0.02}))
    finished(feed)
    opened = feed.wait(is_type("item_started"))
    pieces = [f for f in stream_frames(feed, opened["item_id"]) if f["type"] == "delta"]
    event = feed.wait(lambda f: f["type"] == "durable" and f["event"]["id"] == opened["item_id"])
    assert event["event"]["kind"] == kind
    assert opened["attempt"] == 1 and opened["anchor_seq"] < event["seq"]
    assert "".join(p["content"] for p in pieces) == TEXT and len(pieces) >= 6
    assert [p["order"] for p in pieces] == list(range(len(pieces)))
    assert {(p["kind"], p["attempt"]) for p in pieces} == {("text", 1)}
    places = [feed.frames.index(f) for f in (opened, *pieces, event)]
    assert places == sorted(places)
    assert "item_aborted" not in [f["type"] for f in feed.frames]


@pytest.mark.since_1_23
def test_session_an_interrupted_stream_is_aborted(start, session_of, streaming):
    conversation = start(agent=streaming)
    feed = session_of(conversation)
    feed.say(plan({"say": TEXT, "chunks": 40, "gap": 0.2}))
    opened = feed.wait(is_type("item_started"))
    feed.wait(is_type("delta"))
    assert conversation.action("interrupt").status_code == 200
    aborted = feed.wait(is_type("item_aborted"))
    assert (aborted["item_id"], aborted["attempt"]) == (opened["item_id"], 1)
    assert aborted["reason"]
    feed.wait(is_full_state("paused"))
    assert opened["item_id"] not in durable_ids(feed)
    assert feed.frames.index(aborted) == max(
        feed.frames.index(f) for f in stream_frames(feed, opened["item_id"])
    )


@pytest.mark.since_1_23
def test_session_does_not_replay_streams(start, session_of, streaming):
    conversation = start(plan({"say": TEXT}), agent=streaming)
    conversation.wait_status("finished")
    feed = session_of(conversation, "?after_seq=-1")
    feed.wait(is_full_state("finished"))
    assert {f["type"] for f in feed.frames} == {"sync", "durable", "transient"}


@pytest.mark.since_1_23
def test_session_keeps_streamed_pieces_out_of_the_events(start, session_of, streaming):
    conversation = start(agent=streaming)
    feed = session_of(conversation)
    feed.say(plan({"say": TEXT}))
    finished(feed)
    assert "StreamingDeltaEvent" not in [label(f) for f in feed.frames]
    transient = [label(f) for f in feed.frames if f["type"] == "transient"]
    assert set(transient) == {"ConversationStateUpdateEvent:full_state"}


# --- bash --------------------------------------------------------------------------------------


def run_bash(http, command, **options):
    response = http.post("/api/bash/start_bash_command", json={"command": command, **options})
    assert response.status_code == 200, response.text
    return response.json()


def outputs(feed, command_id):
    return [f for f in list(feed.frames) if f.get("command_id") == command_id]


def ended(feed, command_id):
    """Wait for the exit code of a command; all its outputs."""
    feed.wait(lambda f: f.get("command_id") == command_id and f.get("exit_code") is not None)
    return outputs(feed, command_id)


def text(frames, stream="stdout"):
    return "".join(f.get(stream) or "" for f in frames)


def test_bash_feed_is_silent_until_something_happens(bash_feed, http):
    before = http.post("/api/bash/execute_bash_command", json={"command": "echo before"}).json()
    feed = bash_feed()
    command = run_bash(http, "echo after")
    ended(feed, command["id"])
    assert command in feed.frames
    assert before["command_id"] not in [f.get("command_id", f["id"]) for f in feed.frames]


def test_bash_feed_tells_the_command_and_its_output(bash_feed, http):
    feed = bash_feed()
    command = run_bash(http, "echo out; echo err >&2; exit 3")
    frames = ended(feed, command["id"])
    assert feed.wait(lambda f: f["id"] == command["id"]) == command
    assert feed.frames.index(command) < feed.frames.index(frames[0])
    assert {f["kind"] for f in frames} == {"BashOutput"}
    assert (text(frames), text(frames, "stderr"), frames[-1]["exit_code"]) == ("out\n", "err\n", 3)
    assert [f["order"] for f in frames] == list(range(len(frames)))


def test_bash_feed_shows_what_the_rest_api_stores(bash_feed, http):
    feed = bash_feed()
    command = run_bash(http, "echo stored")
    frames = ended(feed, command["id"])
    page = http.get("/api/bash/bash_events/search", params={"command_id__eq": command["id"]})
    assert page.json()["items"] == frames


def test_bash_command_sent_over_the_socket_is_run(bash_feed, http, workspace):
    feed = bash_feed()
    feed.send({"command": "pwd", "cwd": str(workspace)})
    command = feed.wait(lambda f: f["kind"] == "BashCommand" and f.get("cwd") == str(workspace))
    assert text(ended(feed, command["id"])) == f"{workspace}\n"
    assert http.get(f"/api/bash/bash_events/{command['id']}").json()["command"] == "pwd"


def test_bash_command_in_a_missing_folder_ends_with_an_error(bash_feed, workspace):
    feed = bash_feed()
    feed.send({"command": "pwd", "cwd": str(workspace / "missing")})
    command = feed.wait(is_kind("BashCommand"))
    frames = ended(feed, command["id"])
    assert frames[-1]["exit_code"] not in (0, None) and text(frames, "stderr")


def test_bash_command_over_its_time_limit_is_ended(bash_feed):
    feed = bash_feed()
    marker = new_id()
    feed.send({"command": f"echo {marker}; sleep 30", "timeout": 1})
    command = feed.wait(lambda f: f["kind"] == "BashCommand" and marker in f["command"])
    frames = ended(feed, command["id"])
    assert frames[-1]["exit_code"] == -1 and text(frames) == f"{marker}\n"


@pytest.mark.parametrize("query", ["?resend_mode=all", "?resend_all=true"])
def test_bash_resend_all_sends_the_history_once_and_in_order(bash_feed, http, query):
    feed, expected = bash_feed(), []
    for word in ("one", "two"):
        command = run_bash(http, f"echo {word}")
        expected += [command, *ended(feed, command["id"])]
    late = bash_feed(query)
    late.wait(lambda f: f["id"] == expected[-1]["id"])
    known = set(ids(expected))
    assert [f for f in late.frames if f["id"] in known] == expected
    assert len(set(ids(late.frames))) == len(late.frames)


@pytest.mark.parametrize("query", ["?resend_mode=since", "?resend_mode=sometimes"])
def test_bash_refuses_a_query_that_makes_no_sense(listen, query):
    assert_refused(listen, f"/sockets/bash-events{query}", codes=(1008, 4000, 4022))


def test_bash_answers_a_bad_message_with_an_error_and_stays(bash_feed, http):
    feed, other = bash_feed(), bash_feed()
    for message in BAD_COMMANDS:
        error = answer(feed, message, is_kind("BashError"))
        assert error["code"] and error["detail"]
    feed.send({"command": "echo still here"})
    command = feed.wait(lambda f: f.get("command") == "echo still here")
    for each in (feed, other):
        assert text(ended(each, command["id"])) == "still here\n"
    assert "BashError" not in [label(f) for f in other.frames], "not for other clients"
    assert http.get(f"/api/bash/bash_events/{error['id']}").status_code == 404, "not stored"


def test_bash_command_goes_on_when_its_client_goes_away(bash_feed, http, workspace):
    feed = bash_feed()
    feed.send({"command": "sleep 0.5; echo done > proof.txt", "cwd": str(workspace)})
    feed.wait(lambda f: f.get("cwd") == str(workspace))
    feed.cut()
    wait_until((workspace / "proof.txt").exists, message="the end of the command")


@pytest.mark.beyond  # the reference sends the output when the command has ended, or per megabyte
def test_bash_output_is_sent_while_the_command_runs(bash_feed):
    feed = bash_feed()
    marker = new_id()
    feed.send({"command": f"echo {marker}; sleep 3; echo end", "timeout": 20})
    first = feed.wait(lambda f: marker in (f.get("stdout") or ""), timeout=2)
    assert first.get("exit_code") is None and first["order"] == 0
    frames = ended(feed, first["command_id"])
    assert text(frames) == f"{marker}\nend\n"
    assert [f["order"] for f in frames] == list(range(len(frames)))


@pytest.mark.since_1_23
def test_sockets_of_all_kinds_work_side_by_side(start, events_of, session_of, bash_feed, http):
    conversation = start()
    events, session, bash = events_of(conversation), session_of(conversation), bash_feed()
    for feed in (events, session):
        feed.wait(is_full_state("idle"))
    command = run_bash(http, "echo hi")
    session.send(user_message(plan(*thoughts(2))))
    for feed in (events, session):
        finished(feed)
    ended(bash, command["id"])
    log = conversation.events()
    assert sorted(logged(events, log)) == sorted(durable_ids(session)) == sorted(ids(log))
    kinds = set(
        itertools.chain.from_iterable(
            (label(f).split(":")[0] for f in feed.frames) for feed in (events, session)
        )
    )
    assert not kinds & {"BashCommand", "BashOutput"}
