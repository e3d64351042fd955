"""Counts are what counting would give, whatever changes rows, and look at a few rows at any size."""

import threading

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, transaction

from agentserver import writer
from agentserver.auth.principals import OPERATOR, Principal
from conversations import removal, tallies
from conversations.models import Conversation, ConversationTally, EventTally, Status
from tests.support.plans import finds_by_index

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]

on_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="on SQLite nothing has to be folded"
)


def test_counts_follow_whatever_changes_conversations(two_users, change_much, assert_right):
    for _ in range(4):
        change_much(30)

        assert_right(two_users)


def test_counts_follow_statements_that_change_many(two_users, make_conversation, assert_right):
    ann, bob = two_users
    for number in range(20):
        make_conversation(owner=[None, ann, bob][number % 3])

    Conversation.objects.filter(owner=ann).update(status=Status.RUNNING)
    assert_right(two_users)
    Conversation.objects.filter(status=Status.RUNNING).update(owner=bob)
    assert_right(two_users)
    Conversation.objects.filter(owner=None).delete()
    assert_right(two_users)


def test_conversations_of_a_user_who_leaves_stay_counted(two_users, make_conversation, assert_right):
    ann, bob = two_users
    make_conversation(owner=ann)

    get_user_model().objects.filter(pk=ann.pk).delete()

    assert tallies.conversations(principal=OPERATOR, status=None) == 1
    assert tallies.conversations(principal=Principal(operator=False, user_id=ann.pk), status=None) == 0
    assert_right([bob])


def test_nobody_sees_what_all_have(make_conversation):
    make_conversation()

    assert tallies.conversations(principal=None, status=None) == 0
    assert tallies.conversations(principal=Principal(operator=False, user_id=None), status=None) == 0


def test_what_is_removed_for_good_is_counted_no_more(make_conversation, make_event, assert_right):
    row = make_conversation(status=Status.DELETING)
    make_event(row)

    with transaction.atomic():
        assert removal.remove(row.id)

    assert_right()
    assert not EventTally.objects.exists()


@pytest.mark.parametrize("wanted", [{}, {"status": "idle"}], ids=str)
def test_tallies_of_an_owner_are_found_by_an_index(wanted):
    assert finds_by_index(ConversationTally.objects.filter(owner=0, **wanted))


def test_after_many_changes_there_are_few_rows(two_users, change_much, assert_right):
    change_much(150)

    tallies.keep()

    scopes = 1 + len(two_users)
    assert ConversationTally.objects.filter(folded=True).count() <= scopes * len(Status.values)
    assert ConversationTally.objects.filter(folded=False).count() <= tallies.MOST
    assert_right(two_users)


@on_postgresql
def test_who_counts_lets_many_changes_be_folded(make_conversation, wait_until, assert_right):
    for _ in range(tallies.MOST + 1):
        make_conversation()

    assert tallies.conversations(principal=OPERATOR, status=None) == tallies.MOST + 1
    wait_until(lambda: not ConversationTally.objects.filter(folded=False).exists(), 10)
    assert_right()


@on_postgresql
def test_a_fold_takes_some_changes_and_leaves_the_rest(make_conversation, monkeypatch, assert_right):
    monkeypatch.setattr(tallies, "BATCH", 10)
    for _ in range(25):
        make_conversation()

    with transaction.atomic():
        assert tallies.fold()

    assert ConversationTally.objects.filter(folded=False).count() == 15
    assert_right()


@on_postgresql
def test_nobody_waits_for_who_folds(make_conversation, assert_right):
    """A transaction that has folded stays open while others change, count and would fold."""
    make_conversation()
    with transaction.atomic():
        assert tallies.fold()
        row = make_in_another_thread(make_conversation)
        assert not writer.current().call(tallies.fold)
        assert tallies.conversations(principal=OPERATOR, status=None) == 2

    assert Conversation.objects.filter(id=row.id).exists()
    assert_right()


def make_in_another_thread(make_conversation):
    """What ``make_conversation`` gives on a connection of its own, within ten seconds."""
    return writer.current().submit(make_conversation).result(10)


@on_postgresql
def test_changes_in_opposite_orders_at_once_do_not_meet(make_conversation, assert_right):
    """Two transactions that change the same counts, one after the other: with one row each would wait."""
    rows = [make_conversation(status=status) for status in ("idle", "paused")]
    together, failures = threading.Barrier(2, timeout=10), []

    def change(row, others):
        try:
            with transaction.atomic():
                Conversation.objects.filter(id=row.id).update(status=others)
                together.wait()
                make_conversation(status=others)
                together.wait()
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [
        threading.Thread(target=change, args=pair) for pair in zip(rows, ("paused", "idle"), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert failures == []
    assert_right()
