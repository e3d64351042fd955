"""Run intent: one place says whether unseen input asks for a run, and each question is one statement."""

import pytest

from conversations import intents
from conversations.models import Command, Conversation

pytestmark = [pytest.mark.django_db, pytest.mark.engines]


@pytest.fixture
def row(make_conversation):
    return make_conversation(run_epoch=1)


def asked(row):
    command = Command.objects.create(conversation=row, kind="message", payload="", run=True)
    intents.ask(row.id, command.number)
    return command.number


def test_of_many_claims_one_gets_the_run(row):
    assert [intents.claim(row.id) for _ in range(3)] == [1, 0, 0]


def test_a_run_settles_when_nothing_is_unseen(row):
    intents.claim(row.id)

    assert intents.settle(row.id, 1, "finished") == 0

    row.refresh_from_db()
    assert row.status == "finished"


def test_unseen_input_makes_another_run_and_not_an_end(row):
    intents.claim(row.id)
    asked(row)

    assert intents.settle(row.id, 1, "finished") == 2

    row.refresh_from_db()
    assert row.status == "running"


def test_input_that_a_run_took_up_is_not_asked_for_again(row):
    intents.claim(row.id)
    number = asked(row)

    intents.seen(row.id, number)

    assert intents.settle(row.id, 1, "finished") == 0


def test_what_was_said_after_the_seen_input_still_counts(row):
    intents.claim(row.id)
    first = asked(row)
    asked(row)

    intents.seen(row.id, first)

    assert intents.settle(row.id, 1, "finished") == 2


def test_a_stop_wins_over_what_was_asked_before_and_not_over_what_comes_after(row):
    intents.claim(row.id)
    asked(row)

    assert intents.withdraw(row.id, "interrupt") == 1
    assert not Command.objects.filter(run=True).exists()
    assert Conversation.objects.get(id=row.id).intent is None

    asked(row)
    assert intents.settle(row.id, 1, "paused") == 2


def test_a_stop_without_a_run_names_none(row):
    assert intents.withdraw(row.id, "interrupt") == 0


def test_a_run_that_was_claimed_away_cannot_settle(row):
    intents.claim(row.id)

    with pytest.raises(LookupError):
        intents.settle(row.id, 99, "finished")


def test_outstanding_names_who_waits(row, make_conversation):
    make_conversation()
    asked(row)

    assert intents.outstanding() == [row.id]


def test_a_stop_names_its_run_and_a_pause_takes_no_interrupt_back(row):
    intents.claim(row.id)

    for kind, kept in [("pause", "pause"), ("interrupt", "interrupt"), ("pause", "interrupt")]:
        intents.withdraw(row.id, kind)

        row.refresh_from_db()
        assert (row.stop_run, row.stop_kind) == (1, kept)
