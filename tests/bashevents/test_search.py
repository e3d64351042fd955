"""Search: one total order, full pages, cursors that outlive what they point at."""

import uuid
from itertools import chain

import pytest

from bashevents import services
from bashevents.models import BashEvent
from bashevents.services import Scope, Search

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]

ALL = Scope()


def pages(**query):
    """All events, page by page, as (payload lists)."""
    position, found = None, []
    while True:
        items, position = services.search(scope=ALL, query=Search(position=position, **query))
        found.append(items)
        if position is None:
            return found


def stored(order="id", **filters):
    return list(BashEvent.objects.filter(**filters).order_by(order).values_list("payload", flat=True))


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
@pytest.mark.parametrize("newest_first", [False, True])
def test_pages_hold_every_event_once_in_order(make_command, limit, newest_first):
    for age in range(10, 0, -1):
        make_command(age, outputs=3)

    found = pages(limit=limit, newest_first=newest_first)

    assert list(chain(*found)) == stored("-id" if newest_first else "id")
    assert all(len(page) == limit for page in found[:-1])


def test_a_page_is_cut_after_all_filters(make_command):
    command = make_command(10, outputs=15)
    make_command(5, outputs=20)

    items, position = services.search(
        scope=ALL, query=Search(command_id=command.event_id, beyond_order=9, limit=5)
    )

    assert items == stored(command_id=command.event_id, order__gt=9)
    assert (len(items), position) == (5, None)


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_cursor_goes_on_after_an_event_that_is_gone(make_command, newest_first):
    for age in range(10, 0, -1):
        make_command(age, outputs=0)
    query = {"limit": 4, "newest_first": newest_first}
    first, position = services.search(scope=ALL, query=Search(**query))

    BashEvent.objects.filter(payload__in=first).delete()

    following, _ = services.search(scope=ALL, query=Search(position=position, **query))
    assert following == stored("-id" if newest_first else "id")[:4]


def test_a_page_of_large_events_ends_early_with_a_cursor(make_command, monkeypatch):
    monkeypatch.setattr(services, "PAGE_SIZE", 500)
    make_command(outputs=9)

    found = pages(limit=100)

    assert list(chain(*found)) == stored()
    assert len(found) > 2


def test_each_conversation_has_its_own_events(make_command):
    key = uuid.uuid4()
    theirs = make_command(conversation_id=key)
    make_command()

    items, _ = services.search(scope=Scope(key), query=Search())

    assert items == stored(command_id=theirs.event_id)
    assert services.clear(scope=Scope(key)) == 2
    assert BashEvent.objects.count() == 2


def test_the_searches_of_pollers_use_an_index(make_command):
    command = make_command(outputs=3)
    queries = [
        Search(command_id=command.event_id, newest_first=True, limit=1),
        Search(command_id=command.event_id, beyond_order=1),
        Search(newest_first=True),
        Search(kind="BashCommand", newest_first=True),
        Search(since=command.timestamp, position=(command.timestamp, command.id)),
    ]

    for query in queries:
        plan = services._matching(ALL, query)[:10].explain()
        assert "TEMP B-TREE" not in plan, plan
        assert "SCAN bashevents" not in plan, plan
