"""The list of conversations behind its URL: who sees which, page by page, there and back."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from agentserver.auth.principals import OPERATOR, Principal
from agentserver.dashboard import listing, numbers, shell
from conversations.owners import NOBODY

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]


@pytest.fixture
def accounts(django_user_model, make_conversation):
    """Ann and ben, with two conversations and one; a third belongs to nobody, and zoe has none."""
    users = {name: django_user_model.objects.create_user(name) for name in ("ben", "ann", "zoe")}
    for owner, title in (("ann", "first"), ("ann", "second"), ("ben", "third"), (None, "fourth")):
        make_conversation(owner=users.get(owner), title=title)
    return users


def titles(principal=OPERATOR, **query):
    found = listing.page(principal=principal, query=listing.Query.of({"sort": "oldest", **query}))
    return [row.name for row in found.rows]


def test_an_operator_chooses_an_owner(accounts):
    assert titles(owner="ann") == ["first", "second"]
    assert titles(owner=NOBODY) == ["fourth"]
    assert titles(owner="zoe") == titles(owner="not there") == []
    assert len(titles()) == 4


def test_owners_to_choose_from_are_those_who_have_conversations(accounts):
    found = listing.page(principal=OPERATOR, query=listing.Query.of({"owner": "zoe"}))

    assert [value for value, _ in found.owners] == ["ann", "ben", "zoe", NOBODY]


def test_naming_another_owner_shows_a_user_nothing_of_theirs(accounts):
    ann = Principal(operator=False, user_id=accounts["ann"].pk)

    assert titles(ann, owner="ben") == titles(ann, owner=NOBODY) == titles(ann, q="third") == []
    assert titles(ann) == ["first", "second"]
    assert listing.page(principal=ann, query=listing.Query.of({})).owners == []


@pytest.fixture
def three_pages(make_conversation):
    now = timezone.now()
    for number in range(3 * listing.ROWS - 5):
        moment = now + timedelta(seconds=number)
        make_conversation(title=f"number {number}", created_at=moment, updated_at=moment)


def parsed(link):
    from django.http import QueryDict

    return listing.Query.of(QueryDict(link))


@pytest.mark.parametrize("sort", list(listing.SORTS))
def test_pages_lead_there_and_back(three_pages, sort):
    pages, query = [], listing.Query.of({"sort": sort, "q": "number"})
    while True:
        pages.append(listing.page(principal=OPERATOR, query=query))
        if not pages[-1].following:
            break
        query = parsed(pages[-1].following)
    second = listing.page(principal=OPERATOR, query=parsed(pages[2].previous))
    first = listing.page(principal=OPERATOR, query=parsed(second.previous))

    assert [len(page.rows) for page in pages] == [25, 25, 20]
    assert (second.rows, first.rows) == (pages[1].rows, pages[0].rows)
    assert (pages[0].previous, first.previous) == ("", "")
    assert parsed(second.following).page == parsed(pages[1].following).page
    assert first.following == pages[0].following


def test_a_place_nobody_gave_out_is_the_first_page(three_pages):
    for name in ("page", "until"):
        query = listing.Query.of({name: "zz", "sort": "oldest"})
        assert listing.page(principal=OPERATOR, query=query).rows[0].name == "number 0"


def test_a_page_costs_the_same_number_of_queries_at_any_size(three_pages, django_assert_max_num_queries):
    with django_assert_max_num_queries(6):
        listing.page(principal=OPERATOR, query=listing.Query.of({"q": "number", "owner": "ann"}))


def test_operations_and_bash_pages_count_on_every_engine(three_pages, monkeypatch):
    monkeypatch.setattr(numbers, "_kept", None)
    monkeypatch.setattr(shell, "_kept", None)

    found = numbers.operations(0)

    assert found["stored"]["bytes"] > 100_000
    assert ["idle", "Idle", 70] in found["statuses"]
    assert found["queued"] == 0
    assert numbers.engine() == {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[connection.vendor]
    assert shell.kept().events == 0
