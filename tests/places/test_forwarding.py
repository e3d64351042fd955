"""Where a request belongs, by what the rows say of places."""

import datetime
import uuid

import pytest
from django.utils import timezone

from agentserver import conf
from agentserver.places import directory, forwarding
from agentserver.places.models import Place
from agentserver.places.routes import Disk
from conversations.models import Conversation

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """What was read of places is read anew by each test."""
    monkeypatch.setattr(directory, "_read_at", float("-inf"))


@pytest.fixture
def configure(monkeypatch):
    def _configure(queue, *, runs=False):
        changed = conf.current().model_copy(update={"queue": queue, "runs_conversations": runs})
        monkeypatch.setattr(conf, "current", lambda: changed)

    return _configure


@pytest.fixture
def conversation_in():
    def _make(queue):
        now = timezone.now()
        return Conversation.objects.create(
            id=uuid.uuid4(), workspace_dir="/w", queue=queue, created_at=now, updated_at=now
        )

    return _make


def test_without_places_everything_is_answered_here(configure, conversation_in):
    configure("default")

    assert forwarding._places(Disk(conversation_in("default").id)) is None
    assert forwarding._places(Disk()) is None
    assert forwarding._places(Disk(new=True)) is None
    assert forwarding._places(Disk(uuid.uuid4())) is None


def test_a_conversation_is_answered_for_where_its_queue_is(configure, conversation_in):
    configure("a,b")
    directory.say("one", ["a"], "http://a:1")
    directory.say("two", ["b"], "http://b:1")

    assert forwarding._places(Disk(conversation_in("a").id)) == ["http://a:1"]
    assert forwarding._places(Disk(conversation_in("b").id)) == ["http://b:1"]
    assert forwarding._places(Disk(conversation_in("default").id)) is None
    assert set(forwarding._places(Disk(new=True))) == {"http://a:1", "http://b:1"}
    with pytest.raises(forwarding.Several):
        forwarding._places(Disk())


def test_with_one_disk_the_machines_routes_are_answered_there(configure):
    configure("a")
    directory.say("one", ["a"], "http://a:1")

    assert forwarding._places(Disk()) == ["http://a:1"]


def test_a_runner_answers_for_its_own_disk(configure, conversation_in):
    configure("a", runs=True)
    directory.say("one", ["a"], "http://a:1")
    directory.say("two", ["b"], "http://b:1")

    assert forwarding._places(Disk(conversation_in("a").id)) is None
    assert forwarding._places(Disk(new=True)) is None
    assert forwarding._places(Disk(conversation_in("b").id)) == ["http://b:1"]


def test_a_disk_whose_runner_is_silent_is_answered_for_by_nobody(configure, conversation_in):
    configure("a")
    directory.say("one", ["a"], "http://a:1")
    Place.objects.update(seen_at=timezone.now() - datetime.timedelta(seconds=directory.AWAY_SECONDS + 5))

    assert forwarding._places(Disk(conversation_in("a").id)) == []


def test_a_runner_that_leaves_is_asked_no_more_and_forgotten_after_a_day():
    directory.say("one", ["a"], "http://a:1")

    directory.leave("one")
    directory.forget_gone(["a"])

    assert directory.addresses("a") == []
    Place.objects.update(seen_at=timezone.now() - datetime.timedelta(days=2))
    directory.forget_gone(["a"])
    assert not Place.objects.exists()
