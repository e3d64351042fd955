"""Bash events in the admin: to read, to follow, to prune, never to edit."""

import pytest
from django.urls import reverse

from bashevents.models import BashEvent

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "admin:bashevents_bashevent_changelist"


def test_the_list_shows_commands_and_leads_to_their_output(admin_client, make_command):
    command = make_command(10, outputs=2)
    make_command(10)

    page = admin_client.get(reverse(LIST)).content.decode()
    related = admin_client.get(reverse(LIST), {"command_id": command.event_id})

    assert f"command_id={command.event_id}" in page
    assert related.context["cl"].result_count == 3


@pytest.mark.parametrize(
    "query", [{"state": "running"}, {"state": "failed"}, {"kind": "BashOutput"}, {"q": "x"}]
)
def test_filters_and_search_answer(admin_client, make_command, query):
    make_command(10)

    assert admin_client.get(reverse(LIST), query).status_code == 200


def test_an_id_is_found_by_its_index(admin_client, make_command):
    command = make_command(10, outputs=2)
    make_command(10)

    for text, number in ((str(command.event_id), 3), (command.event_id.hex, 3)):
        found = admin_client.get(reverse(LIST), {"q": text}).context["cl"]
        assert found.result_count == number
        assert "SCAN" not in found.queryset.order_by().explain()


@pytest.mark.parametrize("state", ["failed", "ended"])
def test_how_commands_ended_is_found_in_an_index_alone(admin_client, make_command, state):
    for code in (0, 3, None):
        command = make_command(10)
        BashEvent.objects.filter(command_id=command.event_id, kind="BashOutput").update(exit_code=code)

    found = admin_client.get(reverse(LIST), {"state": state}).context["cl"]

    assert [row.exit_code for row in found.result_list] == {"failed": [3], "ended": [3, 0]}[state]
    assert "COVERING INDEX bash_ended" in found.queryset.values_list("pk").explain()


def test_an_event_can_be_read_and_not_changed(admin_client, make_command):
    command = make_command(10)
    url = reverse("admin:bashevents_bashevent_change", args=[command.pk])

    assert "BashCommand" in admin_client.get(url).content.decode()
    assert admin_client.post(url, {}).status_code == 403
    assert (
        admin_client.post(reverse("admin:bashevents_bashevent_delete", args=[command.pk])).status_code == 403
    )


def test_the_action_prunes_whole_commands_but_no_running_one(admin_client, make_command):
    chosen, running, other = make_command(10), make_command(10, running="somebody"), make_command(10)
    selected = [chosen.pk, running.pk]

    admin_client.post(reverse(LIST), {"action": "prune_selected", "_selected_action": selected})

    assert set(BashEvent.objects.values_list("command_id", flat=True)) == {running.event_id, other.event_id}


def test_a_reader_may_not_prune(client, django_user_model, make_command):
    from django.contrib.auth.models import Permission

    user = django_user_model.objects.create_user("reader", password="x", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_bashevent"))
    client.force_login(user)
    command = make_command(10)

    client.post(reverse(LIST), {"action": "prune_selected", "_selected_action": [command.pk]})

    assert client.get(reverse(LIST)).status_code == 200
    assert BashEvent.objects.count() == 2
