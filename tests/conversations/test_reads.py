"""Pages and searches: one order, no restart, the same cost at any size."""

import uuid
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from conversations import reads
from conversations.models import Conversation, Event

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]


@pytest.fixture
def many(make_conversation):
    """A conversation with 300 messages, every tenth about a fox."""
    row = make_conversation()
    Event.objects.bulk_create(
        Event(
            conversation=row,
            sequence=number,
            event_id=f"e{number}",
            kind="MessageEvent",
            source="user",
            timestamp=f"2026-01-01T00:00:00.{number:06d}",
            body=f'the quick "{"fox" if number % 10 == 0 else "dog"}" number {number}%',
            payload=f'{{"id": "e{number}"}}',
        )
        for number in range(300)
    )
    return row


def found(row, **wanted):
    page, _ = reads.event_page(
        conversation_id=row.id, wanted=reads.EventFilter(**wanted), descending=False, limit=100, page_id=None
    )
    return len(page)


SEARCHES = {"fox": 30, "FOX": 30, '"fox"': 30, 'k "fo': 30, "x": 30, "299%": 1, "wolf": 0, "* OR fox": 0}


@pytest.mark.parametrize(("text", "number"), SEARCHES.items())
def test_a_body_search_finds_substrings_in_any_case(many, text, number):
    assert found(many, body=text) == number


def test_a_body_search_uses_its_index(many):
    rows = reads.EventFilter(body="fox").apply(Event.objects.of(many.id))
    if connection.vendor == "sqlite":
        assert "VIRTUAL TABLE" in rows.explain()
    else:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            assert "conversations_event_body" in rows.order_by().explain() or "Index" in rows.explain()


def test_a_removed_conversation_leaves_nothing_to_find(many, make_conversation):
    many.delete()
    other = make_conversation()
    Event.objects.create(
        conversation=other, sequence=0, event_id="e", kind="MessageEvent", source="user",
        timestamp="2026-01-01T00:00:00.000000", body="a fox", payload="{}",
    )  # fmt: skip

    assert found(other, body="fox") == 1


@pytest.mark.parametrize("sort", list(reads.SORTS))
def test_a_cursor_whose_row_is_gone_goes_on_at_the_next(make_conversation, sort):
    now = timezone.now()
    for number in range(6):
        moment = now + timedelta(seconds=number // 2)  # times twice: the id decides
        make_conversation(created_at=moment, updated_at=moment)
    whole, _ = reads.conversation_page(rows=Conversation.objects.all(), sort=sort, limit=100, page_id=None)
    first, cursor = reads.conversation_page(rows=Conversation.objects.all(), sort=sort, limit=3, page_id=None)
    whole[3].delete()

    rest, end = reads.conversation_page(rows=Conversation.objects.all(), sort=sort, limit=3, page_id=cursor)

    assert [r.id for r in first + rest] == [r.id for r in whole if r.id != whole[3].id and r.pk]
    assert end is None


@pytest.mark.parametrize("sort", list(reads.SORTS))
def test_pages_backwards_are_the_pages_forwards(make_conversation, sort):
    now, rows = timezone.now(), Conversation.objects.all()
    for number in range(7):
        moment = now + timedelta(seconds=number // 2)  # times twice: the id decides
        make_conversation(created_at=moment, updated_at=moment)
    whole, _ = reads.conversation_page(rows=rows, sort=sort, limit=100, page_id=None)

    def before(row):
        page, more = reads.conversation_page_before(
            rows=rows, sort=sort, limit=3, page_id=reads.place_of(row, sort)
        )
        return [one.id for one in page], more

    ids = [row.id for row in whole]
    assert before(whole[6]) == (ids[3:6], True)
    assert before(whole[3]) == (ids[:3], False)
    assert before(whole[0]) == ([], False)


TITLES = {"parser": 2, "PARSER": 2, "fix the": 1, "the/parser": 1, "%": 1, "_": 0, "nothing": 0, "\0": 0}


@pytest.mark.parametrize(("text", "number"), TITLES.items())
def test_a_search_finds_parts_of_titles_and_workspaces_in_any_case(make_conversation, text, number):
    make_conversation(title="Fix the 100% mail queue", workspace_dir="/work")
    make_conversation(title=None, workspace_dir="projects/on/the/parser")
    make_conversation(title="A Parser", status="running")
    make_conversation(title="Parser", status="deleting")

    found = reads.conversations_found(rows=Conversation.objects.living(), text=text)

    assert found.count() == number


def test_a_search_for_many_finds_the_same_as_one_for_few(make_conversation, monkeypatch):
    for number in range(4):
        make_conversation(title=f"Parser {number}")
    monkeypatch.setattr(reads, "FEW", 2)

    assert reads.conversations_found(rows=Conversation.objects.living(), text="parser").count() == 4


@pytest.mark.skipif(connection.vendor != "sqlite", reason="each engine has its own index for this")
def test_a_search_for_titles_reads_no_rows_on_sqlite(make_conversation, django_assert_num_queries):
    make_conversation(title="Parser")
    with django_assert_num_queries(1) as asked:
        reads.conversations_found(rows=Conversation.objects.living(), text="parser")

    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {asked[0]['sql']}")
        assert "COVERING INDEX conversations_conversation_search" in str(cursor.fetchall())


@pytest.mark.skipif(connection.vendor != "postgresql", reason="each engine has its own index for this")
def test_a_search_for_titles_uses_trigrams_on_postgresql(make_conversation, monkeypatch):
    monkeypatch.setattr(reads, "FEW", 0)
    make_conversation(title="Parser")
    rows = reads.conversations_found(rows=Conversation.objects.all(), text="parser")

    with connection.cursor() as cursor, transaction.atomic():
        cursor.execute("SET LOCAL enable_seqscan = off")
        plan = rows.order_by().explain()
    assert "conversations_conversation_title" in plan
    assert "conversations_conversation_workspace" in plan


def test_a_page_costs_the_same_number_of_queries_at_any_size(many, django_assert_num_queries):
    with django_assert_num_queries(1):
        reads.event_page(
            conversation_id=many.id, wanted=reads.EventFilter(), descending=True, limit=100, page_id=None
        )
    with django_assert_num_queries(2):
        reads.event_page(
            conversation_id=many.id, wanted=reads.EventFilter(), descending=True, limit=100, page_id="e150"
        )


@pytest.mark.parametrize("text", ["", "zz", "0" * 47, "f" * 48, uuid.UUID(int=7).hex, "g" * 48])
def test_a_cursor_nobody_gave_out_is_the_first_page(make_conversation, text):
    made = make_conversation()

    page, _ = reads.conversation_page(
        rows=Conversation.objects.all(), sort="CREATED_AT_DESC", limit=5, page_id=text
    )

    assert [row.id for row in page] == [made.id]
