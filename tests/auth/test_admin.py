"""Accounts in the admin: what is theirs goes with them."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from agentserver.auth import tokens
from agentserver.auth.models import ApiToken
from agentserver.configuration.models import Settings

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("way", ["its own page", "the list"])
def test_an_account_is_deleted_with_its_settings_and_tokens(admin_client, make_user, way):
    ann = make_user("ann")
    Settings.objects.create(owner=ann)
    tokens.create(user=ann, name="a program")
    listed = {"action": "delete_selected", "_selected_action": [ann.pk], "post": "yes"}

    if way == "its own page":
        admin_client.post(reverse("admin:auth_user_delete", args=[ann.pk]), {"post": "yes"})
    else:
        admin_client.post(reverse("admin:auth_user_changelist"), listed)

    assert not User.objects.filter(username="ann").exists()
    assert not Settings.objects.exists()
    assert not ApiToken.objects.exists()


def test_who_may_not_delete_accounts_deletes_none(client, make_user):
    ann, staff = make_user("ann"), make_user("staff", staff=True)
    client.force_login(staff)

    answer = client.post(reverse("admin:auth_user_delete", args=[ann.pk]), {"post": "yes"})

    assert answer.status_code == 403
    assert User.objects.filter(username="ann").exists()
