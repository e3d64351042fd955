"""Conversations on the shared server, scripted by the model; the contract suite's drivers serve here too."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contract.conftest import (  # noqa: F401  (fixtures)
    agent_config,
    auth_headers,
    base_url,
    http,
    llm_config,
    llm_stats,
    workspace,
)
from tests.contract.dialogue import talk, unanswered  # noqa: F401
from tests.contract.ownserver import own_server  # noqa: F401


@pytest.fixture
def at_once():
    """Callable: run these calls at the same time, each on a thread; their results in order."""
    with ThreadPoolExecutor(50) as pool:
        yield lambda *calls: [future.result() for future in [pool.submit(call) for call in calls]]


@pytest.fixture
def at_peace(wait_until):
    """Callable: wait until nothing goes on; then every tool call has one result and no model refused."""

    def _at_peace(conversation):
        wait_until(lambda: conversation.status != "running", 30, message="end of the run")
        assert unanswered(conversation.events()) == []
        statuses = {call["status"] for call in conversation.llm_calls() if call["outcome"] == "finished"}
        assert statuses <= {200}, "a strict model refused the history"

    return _at_peace


@pytest.fixture
def two_users(transactional_db):
    """Accounts of two people."""
    from django.contrib.auth import get_user_model

    return [get_user_model().objects.create_user(username=name) for name in ("ann", "bob")]


@pytest.fixture
def assert_right():
    """Callable: every count of conversations, for the operator and these users, is what counting gives."""
    from agentserver.auth.principals import OPERATOR, Principal
    from conversations import tallies
    from conversations.models import Conversation, Status

    def _assert_right(users=()):
        for principal in (OPERATOR, *(Principal(operator=False, user_id=user.pk) for user in users)):
            rows = Conversation.objects.visible_to(principal)
            counted = {status: rows.filter(status=status).count() for status in Status.values}
            counted[None] = rows.living().count()
            told = {
                status: tallies.conversations(principal=principal, status=status)
                for status in (*Status.values, None)
            }
            assert told == counted

    return _assert_right


@pytest.fixture
def change_much(two_users, make_conversation):
    """Callable: that many random creations, changes and deletions, some of which are undone."""
    from django.db import transaction

    from conversations.models import Conversation, Status

    chance = random.Random(16)

    def _change():
        owner, status = chance.choice([None, *two_users]), chance.choice(Status.values)
        row = Conversation.objects.order_by("?").first()
        match chance.randrange(6):
            case 0 | 1 | 2:
                make_conversation(owner=owner, status=status)
            case 3 if row:
                Conversation.objects.filter(id=row.id).update(status=status)
            case 4 if row:
                row.owner, row.status = owner, status
                row.save()
            case 5 if row:
                row.delete()

    def _change_much(count):
        for _ in range(count):
            with transaction.atomic():
                _change()
                if chance.random() < 0.1:
                    transaction.set_rollback(True)

    return _change_much


@pytest.fixture
def many_events(make_conversation):
    """Callable: a conversation with that many events of three kinds from two sources."""
    from conversations.models import Event

    def _many(count):
        row = make_conversation(next_sequence=count)
        Event.objects.bulk_create(
            Event(
                conversation=row,
                sequence=number,
                event_id=f"e{number}",
                kind=("MessageEvent", "ActionEvent", "ObservationEvent")[number % 3],
                source=("user", "agent")[number % 2],
                timestamp="2026-01-01T00:00:00.000000",
                payload="{}",
            )
            for number in range(count)
        )
        return row

    return _many
