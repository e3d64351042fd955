"""Queries that are compiled once give what the ORM gives, each time."""

import uuid

import pytest

from agentserver.auth.principals import OPERATOR
from agentserver.errors import NotFound
from conversations import infos, reads, services
from conversations.models import Conversation, Status

pytestmark = [pytest.mark.django_db, pytest.mark.engines]


def values(row):
    return {name: getattr(row, name) for name in infos.COLUMNS}


def test_a_conversation_is_found_as_the_orm_finds_it(make_conversation, django_assert_num_queries):
    rows = [make_conversation(title=f"é{number}", tags='{"a":"b"}') for number in range(3)]

    for row in rows:
        with django_assert_num_queries(1):
            found = services.find(conversation_id=row.id, principal=OPERATOR, fields=infos.COLUMNS)
        assert values(found) == values(Conversation.objects.get(id=row.id))
        assert found.get_deferred_fields() >= {"base_state", "request"}
        assert found.base_state == row.base_state


def test_what_is_unknown_or_being_deleted_is_not_found(make_conversation):
    deleting = make_conversation(status=Status.DELETING)

    for one in (uuid.uuid4(), deleting.id):
        with pytest.raises(NotFound):
            services.find(conversation_id=one, principal=OPERATOR, fields=("id",))


def test_children_are_those_of_each_parent_in_order(make_conversation, django_assert_num_queries):
    parents = [make_conversation() for _ in range(3)]
    first, second = make_conversation(parent_id=parents[1].id), make_conversation(parent_id=parents[1].id)
    make_conversation(parent_id=parents[1].id, status=Status.DELETING)
    other = make_conversation(parent_id=parents[2].id)

    with django_assert_num_queries(1):
        found = infos._children(parents)

    assert found == {parents[1].id: [str(first.id), str(second.id)], parents[2].id: [str(other.id)]}
    assert infos._children([]) == {}


@pytest.mark.parametrize("sort", reads.SORTS)
@pytest.mark.parametrize("status", [None, "finished", "idle"])
def test_the_first_page_is_the_same_as_by_the_orm(make_conversation, sort, status, django_assert_num_queries):
    for number in range(7):
        make_conversation(status=("finished", "paused", "deleting")[number % 3])
    rows = Conversation.objects.living() if status is None else Conversation.objects.filter(status=status)
    wanted, place = reads.conversation_page(rows=rows, sort=sort, limit=2, page_id=None)

    with django_assert_num_queries(1):
        found, following = reads.first_conversations(status=status, sort=sort, limit=2, columns=infos.COLUMNS)
        assert [values(row) for row in found] == [values(row) for row in wanted]

    assert following == place


def test_values_of_one_call_do_not_reach_the_next(make_conversation):
    first, second = make_conversation(title="one"), make_conversation(title="two")

    titles = [
        services.find(conversation_id=row.id, principal=OPERATOR, fields=("id", "title")).title
        for row in (first, second, first)
    ]

    assert titles == ["one", "two", "one"]
