"""Events of a sort are counted as a search finds them, and a few rows are looked at for it."""

import pytest
from django.db.models import Sum

from conversations import reads
from conversations.models import Event, EventTally
from tests.support.plans import finds_by_index

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]

SORTS = [
    {"kind": "ActionEvent"},
    {"kind": "sdk.event.ActionEvent"},
    {"source": "agent"},
    {"kind": "MessageEvent", "source": "user"},
    {"kind": "ActionEvent", "source": "nobody"},
    {"kind": "sdk."},
    {"kind": "", "source": ""},
]


@pytest.mark.parametrize("sort", SORTS, ids=str)
def test_events_of_a_sort_are_as_many_as_a_search_finds(many_events, make_event, sort):
    many_events(7)
    row = many_events(200)
    make_event(row, kind="ActionEvent")
    wanted = reads.EventFilter(**sort)

    counted = wanted.apply(Event.objects.of(row.id)).count()
    assert reads.event_count(row=row, wanted=wanted) == counted


@pytest.mark.parametrize("count", [10, 1000])
def test_a_count_of_events_looks_at_as_many_rows_as_there_are_sorts(many_events, count):
    row = many_events(count)

    assert EventTally.objects.filter(conversation=row).count() == 6
    assert EventTally.objects.aggregate(total=Sum("count")) == {"total": count}


@pytest.mark.parametrize("wanted", [{}, {"kind": "ActionEvent"}, {"source": "agent"}], ids=str)
def test_tallies_of_a_conversation_are_found_by_an_index(many_events, wanted):
    row = many_events(10)

    assert finds_by_index(row.tallies.filter(**wanted))
