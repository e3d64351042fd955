"""Receivers on this machine, webhooks that post to them, and couriers in this process."""

import pytest

from agentserver import conf
from agentserver.webhooks.hooks import Hook
from tests.support.receiver import Receiver


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def configure(monkeypatch):
    """Callable: set settings for this test; webhooks of this machine may be called."""

    def _configure(**values):
        for name, value in values.items():
            monkeypatch.setattr(conf.current(), name, value)

    _configure(webhook_allow_private_addresses=True)
    return _configure


@pytest.fixture
def make_hook(receiver, configure, transactional_db):
    """Callable: the row of a webhook that posts to ``receiver``, at once and with quick repetitions."""
    from agentserver.webhooks.models import Webhook

    def _make(**fields):
        quick = {"flush_delay": 0.1, "event_buffer_size": 10, "retry_delay": 0.05}
        return Webhook.objects.create(**{"base_url": receiver.url, **quick, **fields})

    return _make


@pytest.fixture
def talk(make_conversation, make_event):
    """Callable: a conversation with ``count`` events, announced as a new one is."""
    from agentserver.webhooks import outbox

    def _talk(count=0, **fields):
        conversation = make_conversation(**{"info": '{"metrics": null}', "base_state": "{}", **fields})
        outbox.announce(conversation.id)
        say(make_event, conversation, count)
        return conversation

    return _talk


def say(make_event, conversation, count):
    """The next ``count`` events of the conversation; their payloads tell them apart."""
    from conversations.models import Event

    first = Event.objects.filter(conversation=conversation).count()
    for number in range(first, first + count):
        make_event(conversation, payload=f'{{"id": "event-{number}"}}')


@pytest.fixture
def start_courier(transactional_db):
    """Callable: a courier as each process has one; ended with the test."""
    from agentserver.webhooks.courier import Courier

    started = []

    def _start():
        courier = Courier()
        courier.start()
        started.append(courier)
        return courier

    yield _start
    for courier in started:
        courier.stop(2)


@pytest.fixture
def hook():
    """Callable: a webhook as who posts sees it."""

    def _hook(**fields):
        usual = {
            "id": 1,
            "owner_id": None,
            "base_url": "https://hooks.example",
            "headers": {},
            "secret": None,
            "guarded": False,
            "failing": False,
            "event_buffer_size": 5,
            "flush_delay": 30,
            "num_retries": 3,
            "retry_delay": 5,
            "max_batch_bytes": 5 * conf.MIB,
        }
        return Hook(**{**usual, **fields})

    return _hook


def ids(receiver, conversation):
    """The ids of the stored events that were accepted, in order of arrival."""
    return [e["id"] for e in receiver.events(conversation) if e.get("key") != "full_state"]


def expected(count):
    return [f"event-{number}" for number in range(count)]
