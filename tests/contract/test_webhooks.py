"""Webhooks: the server tells other services about conversations and their events.

These tests start a server of their own (see ownserver.py) with three webhooks and listen to all:

    one     batches of up to 3 events, at the latest after 1 second; two repetitions of a failed
            post, at once; a header of its own; its address ends with a slash
    two     batches of up to 1000 events, after 3 seconds
    three   batches of up to 5 events, after ten minutes
"""

import json
import time
import uuid

import pytest

from tests.contract.conftest import ConversationDriver, plan, user_message, wait_until
from tests.contract.feed import is_full_state, without_nulls
from tests.contract.ownserver import START_CMD, OwnServer
from tests.support.receiver import Receiver

KEY = "key-of-the-server"
PATIENCE = 15.0


@pytest.fixture(scope="module")
def receivers():
    found = Receiver(), Receiver(), Receiver()
    yield found
    for receiver in found:
        receiver.close()


@pytest.fixture
def one(receivers):
    receivers[0].fail_next = receivers[0].delay = 0
    yield receivers[0]
    receivers[0].fail_next = receivers[0].delay = 0


@pytest.fixture
def two(receivers):
    return receivers[1]


@pytest.fixture
def three(receivers):
    return receivers[2]


@pytest.fixture(scope="module")
def server(receivers, tmp_path_factory):
    if not START_CMD:
        pytest.skip("AGENT_SERVER_START_CMD is not set")
    own = OwnServer(
        tmp_path_factory.mktemp("webhooks"),
        OH_SESSION_API_KEYS_0=KEY,
        OH_WEBHOOKS_0_BASE_URL=f"{receivers[0].url}/some/base/",
        OH_WEBHOOKS_0_EVENT_BUFFER_SIZE="3",
        OH_WEBHOOKS_0_FLUSH_DELAY="1",
        OH_WEBHOOKS_0_NUM_RETRIES="2",
        OH_WEBHOOKS_0_RETRY_DELAY="0",
        OH_WEBHOOKS_0_HEADERS='{"X-Receiver": "number one"}',
        OH_WEBHOOKS_1_BASE_URL=receivers[1].url,
        OH_WEBHOOKS_1_EVENT_BUFFER_SIZE="1000",
        OH_WEBHOOKS_1_FLUSH_DELAY="3",
        OH_WEBHOOKS_2_BASE_URL=receivers[2].url,
        OH_WEBHOOKS_2_EVENT_BUFFER_SIZE="5",
        OH_WEBHOOKS_2_FLUSH_DELAY="600",
    )
    yield own.start()
    own.stop()


@pytest.fixture
def begin(server, receivers, agent_config, workspace):
    """Callable that starts a conversation on the server with webhooks."""
    started = []  # deleted in the end, if the test has not done it

    def _begin(text=None, **overrides):
        body = {
            "agent": agent_config,
            **overrides,
            "workspace": {"kind": "LocalWorkspace", "working_dir": str(workspace)},
        }
        if text is not None:
            body["initial_message"] = user_message(text, True)
        response = server.http.post("/api/conversations", json=body, headers=server.headers)
        assert response.status_code == 201, response.text
        started.append(ConversationDriver(server.http, response.json()))
        return started[-1]

    yield _begin
    for conversation in started:
        server.http.delete(conversation.path)
    for conversation in started:  # so that nothing of it comes in the midst of the next test
        receivers[0].wait_info(conversation, execution_status="deleting")


def finish():
    return plan({"tool": "finish", "args": {"message": "done"}})


def thoughts(count, **step):
    return plan(*[{"tool": "think", "args": {"thought": f"thought {i}"}, **step} for i in range(count)])


# --- conversations -----------------------------------------------------------------------------


def test_a_new_conversation_is_announced_to_every_webhook(begin, one, two):
    conversation = begin()
    for receiver in (one, two):
        info = receiver.wait_info(conversation)
        assert info["execution_status"] == "idle"
    paths = {p.path for p in one.posts if p.path.endswith("/conversations")}
    assert paths == {"/some/base/conversations"}, "the slash at the end of the address is no part"


def test_what_is_announced_is_what_rest_tells(begin, one):
    conversation = begin(tags={"origin": "webhook"})
    info = one.wait_info(conversation)
    told = conversation.get()
    assert set(info) == set(told)
    for name in ("id", "title", "tags", "workspace", "agent", "created_at", "max_iterations"):
        assert info[name] == told[name], name


@pytest.mark.parametrize("action", ["pause", "interrupt"])
def test_a_stop_is_announced(begin, one, action):
    conversation = begin(thoughts(50, delay=0.2))
    conversation.wait_status("running")
    assert conversation.action(action).status_code == 200
    conversation.wait_status("paused")
    one.wait_info(conversation, execution_status="paused")


def test_a_new_title_is_announced(begin, one, server):
    conversation = begin()
    response = server.http.patch(conversation.path, json={"title": "A better title"})
    assert response.status_code == 200
    one.wait_info(conversation, title="A better title")


@pytest.mark.beyond  # of a fork the reference posts the events, but never what conversation it is
def test_a_fork_is_announced_like_any_new_conversation(begin, one, server):
    response = server.http.post(f"{begin().path}/fork", json={"title": "The fork"})
    fork = ConversationDriver(server.http, response.json())
    one.wait_info(fork, title="The fork")
    server.http.delete(fork.path)


def test_the_end_of_a_conversation_is_announced(begin, one, two, server):
    conversation = begin()
    assert server.http.delete(conversation.path).status_code == 200
    for receiver in (one, two):
        receiver.wait_info(conversation, execution_status="deleting")


# --- events ------------------------------------------------------------------------------------


def test_every_event_is_posted_once_and_in_order(begin, one, two):
    conversation = begin(thoughts(6))
    conversation.wait_status("finished")
    log = conversation.events()
    known = {event["id"] for event in log}
    for receiver in (one, two):
        received = receiver.wait_events(conversation, log)
        assert [e["id"] for e in received if e["id"] in known] == [e["id"] for e in log]


def test_an_event_is_posted_as_rest_serves_it(begin, one):
    conversation = begin(plan({"tool": "terminal", "args": {"command": "echo héllo"}}))
    conversation.wait_status("finished")
    log = conversation.events()
    received = {e["id"]: e for e in one.wait_events(conversation, log)}
    for event in log:
        assert without_nulls(received[event["id"]]) == without_nulls(event)


def test_events_are_posted_to_an_address_with_the_conversation_id(begin, one):
    """The id is written without dashes."""
    conversation = begin(finish())
    wait_until(lambda: one.batches(conversation), PATIENCE, message="a batch of events")
    paths = {p.path for p in one.posts if uuid.UUID(conversation.id).hex in p.path}
    assert paths == {f"/some/base/events/{uuid.UUID(conversation.id).hex}"}


def test_the_state_changes_of_a_run_are_among_the_events(begin, one):
    conversation = begin(finish())
    conversation.wait_status("finished")
    received = one.wait_events(conversation, conversation.events())
    statuses = [e["value"] for e in received if e.get("key") == "execution_status"]
    assert statuses == ["running", "finished"]


def test_a_batch_is_no_longer_than_the_buffer(begin, one):
    conversation = begin(thoughts(6))
    conversation.wait_status("finished")
    one.wait_events(conversation, conversation.events())
    assert max(len(batch) for batch in one.batches(conversation)) == 3


def test_a_full_buffer_is_posted_at_once(begin, three):
    conversation = begin(thoughts(10))
    conversation.wait_status("finished")
    log = conversation.events()
    wait_until(lambda: len(three.events(conversation)) > len(log) - 5, 5, message="full buffers")
    assert max(len(batch) for batch in three.batches(conversation)) == 5


def test_a_buffer_that_does_not_fill_is_posted_after_the_delay(begin, two):
    conversation = begin(finish())
    conversation.wait_status("finished")
    log = conversation.events()
    assert two.batches(conversation) == [], "posted before the delay had passed"
    two.wait_events(conversation, log)
    assert len(two.batches(conversation)) <= 2


def test_posts_carry_the_right_headers(begin, one, two):
    conversation = begin(finish())
    for receiver, extra in ((one, "number one"), (two, None)):
        wait_until(lambda: receiver.batches(conversation), PATIENCE, message="events")
        for post in list(receiver.posts):
            assert post.headers["x-session-api-key"] == KEY
            assert post.headers["content-type"].startswith("application/json")
            assert post.headers.get("x-receiver") == extra


def test_posts_carry_no_secrets(begin, one, llm_config):
    conversation = begin(
        plan({"tool": "terminal", "args": {"command": "echo $TOKEN"}}),
        secrets={"TOKEN": {"kind": "StaticSecret", "value": "value-of-the-token"}},
    )
    conversation.wait_status("finished")
    one.wait_events(conversation, conversation.events())
    text = json.dumps([post.body for post in one.posts])
    assert llm_config["api_key"] not in text and "value-of-the-token" not in text


def test_streamed_pieces_are_not_posted(begin, one, agent_config):
    """They come at the speed of the model and are no part of the history."""
    agent = {**agent_config, "llm": {**agent_config["llm"], "stream": True}}
    conversation = begin(plan({"say": "many small pieces of text", "chunks": 20}), agent=agent)
    conversation.wait_status("finished")
    received = one.wait_events(conversation, conversation.events())
    assert "StreamingDeltaEvent" not in {e["kind"] for e in received}


def test_what_is_left_in_the_buffer_is_posted_when_the_conversation_is_deleted(begin, three, server):
    conversation = begin(finish())
    conversation.wait_status("finished")

    def some_are_left():
        posted = {event["id"] for event in three.events(conversation)}
        return any(event["id"] not in posted for event in conversation.events())

    for _ in range(5):
        if not some_are_left():
            conversation.send("one more", run=False)
    assert some_are_left()
    log = conversation.events()
    assert server.http.delete(conversation.path).status_code == 200
    three.wait_events(conversation, log)


# --- receivers in trouble ----------------------------------------------------------------------


@pytest.mark.parametrize("failures", [1, 2])
def test_a_failed_post_is_repeated(begin, one, failures):
    conversation = begin()
    wait_until(lambda: one.batches(conversation), PATIENCE, message="the first events")
    one.fail_next = failures
    conversation.send(finish())
    conversation.wait_status("finished")
    log = conversation.events()
    received = [e["id"] for e in one.wait_events(conversation, log)]
    failed = one.batches(conversation, status=503)
    assert len(failed) == failures
    assert failed[0] in one.batches(conversation), "the same batch again"
    known = {event["id"] for event in log}
    assert [i for i in received if i in known] == [event["id"] for event in log]


def test_events_survive_a_receiver_that_is_down_for_a_while(begin, one):
    """After the repetitions they go back into the buffer and are tried again after the delay."""
    conversation = begin()
    wait_until(lambda: one.batches(conversation), PATIENCE, message="the first events")
    one.fail_next = 6
    conversation.send(thoughts(3))
    conversation.wait_status("finished")
    log = conversation.events()
    known = {event["id"] for event in log}
    received = [e["id"] for e in one.wait_events(conversation, log) if e["id"] in known]
    assert received == [event["id"] for event in log]
    assert len(one.batches(conversation, status=503)) == 6


def test_a_failed_announcement_is_repeated(begin, one):
    one.fail_next = 2
    conversation = begin()
    one.wait_info(conversation)
    assert len(one.infos(conversation, status=503)) == 2


def test_one_receiver_in_trouble_does_not_matter_to_the_other(begin, one, two):
    one.fail_next = 1000
    conversation = begin(finish())
    conversation.wait_status("finished")
    two.wait_info(conversation)
    two.wait_events(conversation, conversation.events())


def test_a_slow_receiver_does_not_slow_the_api_or_the_agent_down(begin, one):
    one.delay = 4
    before = time.monotonic()
    conversation = begin(thoughts(6))
    assert time.monotonic() - before < 4
    conversation.wait_status("finished", timeout=8)
    assert len(one.batches(conversation)) <= 2, "the receiver is still at it"


@pytest.mark.beyond  # the reference holds the final state back until the receiver has answered
def test_a_slow_receiver_does_not_hold_up_the_sockets(begin, one, server, listen):
    conversation = begin()
    wait_until(lambda: one.batches(conversation), PATIENCE, message="the first events")
    feed = listen(f"/sockets/events/{conversation.id}", headers=server.headers, base=server.url)
    feed.wait(is_full_state("idle"))
    one.delay = 6
    conversation.send(thoughts(4))
    conversation.wait_status("finished", timeout=8)
    feed.wait(is_full_state("finished"), timeout=3)
