"""Webhooks of a server: through a crash with a receiver that is away, and at the server's end."""

import signal
import socket
import time

import pytest
import standardwebhooks

from tests.contract.dialogue import Dialogue, finish, say, thinking
from tests.support.receiver import Receiver
from tests.support.server import OwnServer
from tests.support.waiting import wait_until


@pytest.fixture
def quick(receivers):
    """Hears within half a second."""
    yield receivers[0]
    receivers[0].answer = None


@pytest.fixture
def patient(receivers):
    """Hears of a thousand events, or after ten minutes."""
    return receivers[1]


@pytest.fixture
def third(receivers):
    return receivers[2]


@pytest.fixture(scope="module")
def receivers():
    made = Receiver(), Receiver(), Receiver()
    yield made
    for receiver in made:
        receiver.close()


@pytest.fixture(scope="module")
def silent():
    """The address of a receiver that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture(scope="module")
def server(receivers, silent, tmp_path_factory):
    server = OwnServer(
        tmp_path_factory.mktemp("webhooks"),
        OH_SECRET_KEY="webhooks",
        OH_SESSION_API_KEYS_0="session-key-of-webhooks",
        OH_WEBHOOK_ALLOW_PRIVATE_ADDRESSES="true",
        OH_WEBHOOKS_0_BASE_URL=receivers[0].url,
        OH_WEBHOOKS_0_EVENT_BUFFER_SIZE="20",
        OH_WEBHOOKS_0_FLUSH_DELAY="0.5",
        OH_WEBHOOKS_0_NUM_RETRIES="1000",
        OH_WEBHOOKS_0_RETRY_DELAY="0.3",
        OH_WEBHOOKS_1_BASE_URL=receivers[1].url,
        OH_WEBHOOKS_1_EVENT_BUFFER_SIZE="1000",
        OH_WEBHOOKS_1_FLUSH_DELAY="600",
        OH_WEBHOOKS_2_BASE_URL=silent,
    )
    yield server.start().wait_ready()
    server.stop()


@pytest.fixture
def run(server, llm_url, tmp_path):
    """Callable: a conversation that runs through these steps."""
    llm = {"usage_id": "hooks", "model": "openai/fake", "base_url": f"{llm_url}/v1", "api_key": "k"}
    agent = {"kind": "Agent", "llm": llm, "include_default_tools": ["FinishTool", "ThinkTool"]}

    def _run(*steps):
        return Dialogue.open(server.http, llm_url, agent, tmp_path, *steps)

    return _run


def stored(events):
    return [event["id"] for event in events if event.get("key") != "full_state"]


def test_a_receiver_that_is_away_gets_every_event_once_and_in_order_through_a_crash(server, run, quick):
    quick.answer = lambda post: (503, {})
    conversation = run(*thinking(60, delay=0.02), finish())
    wait_until(lambda: len(quick.posts) > 3 and len(conversation.events()) > 30, 30, message="a busy run")
    server.restart("KILL")
    conversation.http = server.http
    server.wait_ready()
    wait_until(lambda: conversation.status == "error", 30, message="the end of recovery")
    quick.answer = None
    log = conversation.events()
    received = stored(quick.wait_events(conversation, log, timeout=30))

    assert received == [event["id"] for event in log]
    assert quick.overlaps == 0
    keys = [post.headers["idempotency-key"] for post in quick.about(conversation)]
    assert len(keys) == len(set(keys))


def test_a_webhook_made_over_the_api_hears_of_the_next_conversation(server, run, third):
    address = {"base_url": third.url, "secret": "a shared secret", "flush_delay": 0.2}
    made = server.http.post("/api/webhooks", json=address)
    assert made.status_code == 201, made.text
    conversation = run(finish())
    conversation.wait_finished()
    log = conversation.events()
    received = stored(third.wait_events(conversation, log))
    told = server.http.get(f"/api/webhooks/{made.json()['id']}/deliveries").json()["items"]

    assert received == [event["id"] for event in log]
    assert third.wait_info(conversation)["id"] == conversation.id
    for post in third.posts:
        standardwebhooks.Webhook(b"a shared secret").verify(post.raw, post.headers)
        assert "x-session-api-key" not in post.headers
    assert [item["conversation_id"] for item in told] == [conversation.id]


def test_at_its_end_the_server_posts_what_waits_and_does_not_wait_for_the_silent(server, run, patient):
    conversation, cut_off = run(*thinking(3), finish()), run(*thinking(1), say("never", delay=60))
    conversation.wait_finished()
    cut_off.wait_llm_call()
    log = conversation.events()
    assert patient.events(conversation) == []

    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(60) == 0
    took = time.monotonic() - began
    assert stored(patient.events(conversation)) == [event["id"] for event in log]
    assert "InterruptEvent" in [event["kind"] for event in patient.events(cut_off)]
    assert took < 15
