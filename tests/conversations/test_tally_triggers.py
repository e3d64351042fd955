"""The triggers that count: all are there, and they began with what was there before them."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Sum

from conversations.models import Conversation, Event, EventTally, Status

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]

BEFORE, TALLIES = ("conversations", "0004_conversation_search"), ("conversations", "0005_tallies")


def test_the_migration_counts_what_is_there(two_users, change_much, many_events, assert_right):
    change_much(40)
    row = many_events(50)
    migrate(BEFORE)
    try:
        Conversation.objects.filter(id=row.id).update(status=Status.STUCK)
        Event.objects.of(row.id).filter(sequence=49).delete()
    finally:
        migrate(TALLIES)

    assert_right(two_users)
    counts = {
        kind: EventTally.objects.filter(conversation=row, kind=kind).aggregate(n=Sum("count"))["n"]
        for kind in ("MessageEvent", "ActionEvent", "ObservationEvent")
    }
    assert counts == {kind: Event.objects.of(row.id).filter(kind=kind).count() for kind in counts}


def migrate(target):
    """Bring this test's database to ``target``: an app and one of its migrations."""
    MigrationExecutor(connection).migrate([target])


TRIGGERS = {
    "conversations_event_tally_added",
    "conversations_tally_added",
    "conversations_tally_changed",
    "conversations_tally_removed",
}
OF_SQLITE = {"conversations_event_body_added", "conversations_event_body_removed"}


def test_every_trigger_is_there_after_all_migrations():
    """A migration that rebuilds a table on SQLite drops its triggers: it has to make them again."""
    sqlite = connection.vendor == "sqlite"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            if sqlite
            else "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
        )
        there = {name for (name,) in cursor.fetchall()}

    assert (TRIGGERS | OF_SQLITE if sqlite else TRIGGERS) <= there
