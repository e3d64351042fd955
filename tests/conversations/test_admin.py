"""Conversations in the admin: what is deleted there is gone."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from conversations import admin
from conversations.models import Conversation, Event

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/admin/conversations/conversation/"


def test_a_conversation_is_deleted_on_its_own_page_with_its_events(
    admin_client, make_conversation, make_event
):
    conversation, other = make_conversation(), make_conversation()
    for _ in range(3):
        make_event(conversation)
    page = reverse("admin:conversations_conversation_delete", args=[conversation.pk])

    assert admin_client.post(page, {"post": "yes"}).status_code == 302
    assert list(Conversation.objects.all()) == [other]
    assert not Event.objects.exists()


def ids(response):
    return [row.pk for row in response.context["cl"].result_list]


def test_search_finds_an_id_and_a_part_of_a_title(admin_client, make_conversation):
    one, other = make_conversation(title="Fix the parser"), make_conversation(title="Another")

    assert ids(admin_client.get(LIST, {"q": str(other.pk)})) == [other.pk]
    assert ids(admin_client.get(LIST, {"q": "PARS"})) == [one.pk]
    assert ids(admin_client.get(LIST, {"q": "%"})) == []


def test_an_owner_can_be_chosen(admin_client, admin_user, make_conversation):
    own, free = make_conversation(owner=admin_user), make_conversation()

    assert ids(admin_client.get(LIST, {"owner": admin_user.username})) == [own.pk]
    assert ids(admin_client.get(LIST, {"owner": ":nobody"})) == [free.pk]
    assert admin_user.username in admin_client.get(LIST).content.decode()


@pytest.mark.parametrize(("page", "first", "last"), [(1, 0, 50), (2, 50, 100), (3, 100, 150), (4, 150, 153)])
def test_each_page_has_its_rows_in_order(admin_client, make_conversation, page, first, last):
    now = timezone.now()
    made = [make_conversation(updated_at=now - timedelta(minutes=n)) for n in range(153)]

    assert ids(admin_client.get(LIST, {"p": page})) == [row.pk for row in made[first:last]]


def test_the_last_page_is_counted_from_its_end(admin_client, make_conversation):
    now = timezone.now()
    for n in range(153):
        make_conversation(updated_at=now - timedelta(minutes=n))

    with CaptureQueriesContext(connection) as captured:
        admin_client.get(LIST, {"p": 4})

    assert not [query["sql"] for query in captured if "OFFSET" in query["sql"]]


def test_an_action_takes_no_more_than_it_can_and_says_so(admin_client, make_conversation, monkeypatch):
    monkeypatch.setattr(admin, "MOST", 2)
    made = [make_conversation() for _ in range(3)]
    chosen = {"action": "delete_selected", "_selected_action": [row.pk for row in made], "post": "yes"}

    page = admin_client.post(LIST, chosen, follow=True).content.decode()

    assert "One action takes 2" in page
    assert "Delete: 2 done." in page
    assert Conversation.objects.count() == 1


def test_deleting_asks_first(admin_client, make_conversation):
    row = make_conversation()
    chosen = {"action": "delete_selected", "_selected_action": [row.pk]}

    page = admin_client.post(LIST, chosen).content.decode()

    assert "with 0 events" in page
    assert Conversation.objects.count() == 1


def test_sources_are_a_filter_within_one_conversation(admin_client, make_conversation, make_event):
    row = make_conversation()
    make_event(row)
    events = reverse("admin:conversations_event_changelist")

    assert "By source" not in admin_client.get(events).content.decode()
    assert "By source" in admin_client.get(events, {"conversation__id__exact": row.pk}).content.decode()


def test_the_admin_has_the_frame_of_the_dashboard(admin_client):
    page = admin_client.get("/admin/").content.decode()

    assert "dashboard/admin.css" in page
    assert 'href="/dashboard/"' in page
