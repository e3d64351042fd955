"""Conversations in the admin: what is deleted there is gone."""

import pytest
from django.urls import reverse

from conversations.models import Conversation, Event

pytestmark = pytest.mark.django_db(transaction=True)


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
