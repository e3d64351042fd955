"""The login page and the admin's tokens."""

import pytest
from django.core.cache import cache
from django.test import Client

from agentserver.auth import doors, keys, sessions, tokens
from agentserver.auth.models import ApiToken

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_earlier_attempts():
    cache.clear()
    yield
    cache.clear()


def log_in(client, **fields):
    return client.post("/login", fields)


def test_an_account_logs_in_and_goes_on(client, make_user, keyed):
    make_user("ann")
    response = log_in(client, username="ann", password="correct horse", next="/admin/x")

    assert (response.status_code, response["Location"]) == (302, "/admin/x")
    cookie = response.cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


@pytest.mark.parametrize(
    "wanted", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil"]
)
def test_a_login_leads_to_no_other_site(client, make_user, keyed, wanted):
    make_user("ann")
    response = log_in(client, username="ann", password="correct horse", next=wanted)
    assert response["Location"] == "/dashboard/"


def test_the_operator_logs_in_with_a_session_key_until_it_changes(client, keyed, configure, rf):
    assert log_in(client, session_key=keyed).status_code == 302
    request = rf.get("/")
    request.session = client.session
    assert sessions.principal_of(request) == doors.OPERATOR
    assert keyed not in str(dict(client.session))

    configure(session_api_keys=["another-key"])
    assert sessions.principal_of(request) is None


@pytest.mark.parametrize("fields", [{}, {"username": "ann", "password": "wrong"}, {"session_key": "wrong"}])
def test_a_wrong_login_is_403_and_says_the_same_whatever_was_wrong(client, make_user, keyed, fields):
    make_user("ann")
    response = log_in(client, **fields)

    assert response.status_code == 403
    assert b"did not match" in response.content
    assert "sessionid" not in response.cookies


def test_after_many_failures_even_the_right_password_waits(client, make_user, keyed, configure):
    configure(login_attempts_per_minute=3)
    make_user("ann")
    for _ in range(3):
        log_in(client, username="ann", password="wrong")

    assert log_in(client, username="ann", password="correct horse").status_code == 403
    assert log_in(client, session_key=keyed).status_code == 403
    cache.clear()  # a minute later
    assert log_in(client, username="ann", password="correct horse").status_code == 302


def test_an_account_is_slowed_down_from_many_addresses(make_user, keyed, configure):
    configure(login_attempts_per_minute=3)
    make_user("ann")
    for number in range(3):
        log_in(Client(REMOTE_ADDR=f"10.0.0.{number}"), username="ann", password="wrong")
    response = log_in(Client(REMOTE_ADDR="10.0.0.9"), username="ann", password="correct horse")
    assert response.status_code == 403


def test_the_admin_is_slowed_down_as_well(client, make_user, configure):
    configure(login_attempts_per_minute=2)
    make_user("sue", staff=True)
    for _ in range(2):
        client.post("/admin/login/", {"username": "sue", "password": "wrong"})
    response = client.post("/admin/login/", {"username": "sue", "password": "correct horse"})
    assert response.status_code == 200  # the form again


def test_logging_out_ends_the_session(client, make_user, keyed):
    make_user("ann")
    log_in(client, username="ann", password="correct horse")
    assert client.post("/logout").status_code == 302
    assert client.get("/logout").status_code == 405
    assert "_auth_user_id" not in client.session


def test_a_form_without_the_csrf_token_is_refused(make_user, keyed):
    make_user("ann")
    strict = Client(enforce_csrf_checks=True)
    assert log_in(strict, username="ann", password="correct horse").status_code == 403


def test_the_admin_shows_a_new_token_once(admin_client, admin_user):
    response = admin_client.post(
        "/admin/access/apitoken/add/", {"user": admin_user.pk, "name": "laptop"}, follow=True
    )
    shown = [
        word
        for word in response.content.decode().replace("<", " ").replace(">", " ").split()
        if word.startswith(tokens.PREFIX)
    ]

    assert len(shown) == 1
    assert tokens.principal_of(shown[0].encode()).user_id == admin_user.pk
    row = ApiToken.objects.get()
    again = (
        admin_client.get("/admin/access/apitoken/").content
        + admin_client.get(f"/admin/access/apitoken/{row.pk}/change/").content
    )
    assert shown[0].encode() not in again
    assert row.digest.encode() not in again


def test_a_mark_ends_with_its_key(keyed, configure):
    mark = keys.mark_of(keyed)
    assert keys.is_mark(mark)
    configure(session_api_keys=["another"])
    assert not keys.is_mark(mark)
