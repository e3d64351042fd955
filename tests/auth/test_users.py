"""Several people on one server: each has their own, staff have all."""

import functools

import pytest
from django.core.management import CommandError, call_command

from agentserver import threads
from agentserver.auth import doors, tokens
from agentserver.auth.models import ApiToken
from agentserver.front.cors import Cors
from agentserver.front.gate import Gate
from conversations.models import Conversation
from tests.auth.conftest import who

pytestmark = pytest.mark.django_db(transaction=True)


def bearing(token):
    return {"X-Session-API-Key": token}


async def _of(make, *args, **options):
    """What ``make`` returns; it uses the database, which an event loop must not."""
    return await threads.run_in(threads.reading(), functools.partial(make, *args, **options))


async def test_a_token_lets_its_user_in(ask, keyed, make_token):
    user, token = await _of(make_token, "ann")
    response = await ask("GET", "/api/conversations/search", headers=bearing(token))
    assert who(response) == {"operator": False, "user_id": user.pk}


async def test_staff_act_as_operators_under_their_own_name(ask, keyed, make_token):
    user, token = await _of(make_token, "sue", staff=True)
    assert who(await ask("GET", "/api/x", headers=bearing(token))) == {"operator": True, "user_id": user.pk}


async def test_a_token_of_somebody_who_left_opens_nothing(ask, keyed, make_token):
    _, token = await _of(make_token, "bob", active=False)
    assert (await ask("GET", "/api/conversations", headers=bearing(token))).status_code == 401


async def test_a_revoked_token_opens_nothing_from_then_on(ask, keyed, make_token):
    _, token = await _of(make_token, "ann")
    assert (await ask("GET", "/api/conversations", headers=bearing(token))).status_code == 200
    await _of(ApiToken.objects.all().delete)
    assert (await ask("GET", "/api/conversations", headers=bearing(token))).status_code == 401


@pytest.mark.parametrize("junk", ["ast_", "ast_x", "ast_" + "x" * 5000, "ast_\xff"])
async def test_what_looks_like_a_token_is_401(ask, keyed, junk):
    headers = [(b"X-Session-API-Key", junk.encode("latin-1"))]
    assert (await ask("GET", "/api/conversations", headers=headers)).status_code == 401


def test_what_is_stored_opens_nothing(make_token):
    _, token = make_token("ann")
    row = ApiToken.objects.get()

    assert token not in str(row.__dict__)
    assert tokens.principal_of(row.digest.encode()) is None
    assert tokens.principal_of(token.encode()) is not None


def test_use_is_noted(make_token, wait_until):
    _, token = make_token("ann")
    tokens.principal_of(token.encode())
    wait_until(lambda: ApiToken.objects.get().last_used_at is not None)


def test_the_command_prints_a_token_that_works(make_user, capsys):
    user = make_user("ann")
    call_command("create_token", "ann", name="laptop")

    token = capsys.readouterr().out.strip()
    assert tokens.principal_of(token.encode()).user_id == user.pk
    with pytest.raises(CommandError, match="createsuperuser"):
        call_command("create_token", "nobody")


# --- conversations -------------------------------------------------------------------------------


async def test_a_user_reaches_their_own_conversation_and_no_other(ask, keyed, make_token, make_conversation):
    ann, token = await _of(make_token, "ann")
    own = await _of(make_conversation, owner=ann)
    other = await _of(make_conversation)
    for method, rest in [("GET", ""), ("DELETE", ""), ("POST", "/run"), ("GET", "/events/search")]:
        for spelling in (str, lambda identifier: identifier.hex, lambda i: str(i).upper()):
            mine = await ask(method, f"/api/conversations/{spelling(own.id)}{rest}", headers=bearing(token))
            theirs = await ask(
                method, f"/api/conversations/{spelling(other.id)}{rest}", headers=bearing(token)
            )
            assert (mine.status_code, theirs.status_code) == (200, 404), rest


async def test_staff_and_session_keys_reach_all(ask, keyed, make_token, make_conversation):
    _, token = await _of(make_token, "sue", staff=True)
    other = await _of(make_conversation)
    for given in (token, keyed):
        response = await ask("GET", f"/api/conversations/{other.id}", headers=bearing(given))
        assert response.status_code == 200


def test_one_queryset_says_what_is_visible(make_user, make_conversation):
    ann, sue = make_user("ann"), make_user("sue", staff=True)
    own, other = make_conversation(owner=ann), make_conversation()
    seen = Conversation.objects.visible_to

    assert list(seen(doors.Principal(operator=False, user_id=ann.pk))) == [own]
    assert set(seen(doors.Principal(operator=True, user_id=sue.pk))) == {own, other}
    assert list(seen(None)) == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/bash/execute_bash_command"),
        ("GET", "/api/bash/bash_events/search"),
        ("GET", "/api/file/download?path=/etc/hostname"),
        ("POST", "/api/file/upload?path=/tmp/x"),
        ("POST", "/api/cloud-proxy"),
        ("POST", "/api/init"),
        ("GET", "/api/workspaces"),
        ("POST", "/api/skills/sync"),
        ("POST", "/api/llm/subscription/openai/logout"),
        ("GET", "/api/what-comes-later"),
    ],
)
async def test_what_all_share_is_for_operators(ask, keyed, make_token, method, path):
    _, token = await _of(make_token, "ann")
    response = await ask(method, path, headers=bearing(token))
    assert (response.status_code, response.json()["code"]) == (403, "forbidden")


async def test_what_a_user_keeps_is_their_own(ask, keyed, make_token):
    """Rows of their owner, whom the services ask for; nothing here is shared."""
    user, token = await _of(make_token, "ann")
    for method, path in [
        ("PATCH", "/api/settings"),
        ("GET", "/api/settings/secrets/A"),
        ("POST", "/api/profiles/x"),
        ("POST", "/api/skills/install"),
        ("PATCH", "/api/plugins/installed/x"),
        ("POST", "/api/mcp/oauth/start"),
        ("POST", "/v1/chat/completions"),
    ]:
        response = await ask(method, path, headers=bearing(token))
        assert who(response) == {"operator": False, "user_id": user.pk}, path


# --- sockets -------------------------------------------------------------------------------------


async def test_a_token_opens_sockets_in_each_way(keyed, make_token, scope_of):
    user, token = await _of(make_token, "ann")
    principal = doors.Principal(operator=False, user_id=user.pk)
    message = f'{{"type": "auth", "session_api_key": "{token}"}}'

    assert await doors.socket_principal(scope_of(query=f"session_api_key={token}")) == principal
    assert await doors.socket_principal(scope_of(x_session_api_key=token)) == principal
    assert await doors.first_message_principal(scope_of(), message) == principal


async def test_everybodys_commands_are_watched_by_operators_only(keyed, make_token, scope_of):
    _, token = await _of(make_token, "ann")
    scope = scope_of("/sockets/bash-events", x_session_api_key=token)
    message = f'{{"type": "auth", "session_api_key": "{token}"}}'

    with pytest.raises(doors.Denied):
        await doors.socket_principal(scope)
    assert await doors.first_message_principal(scope_of("/sockets/bash-events"), message) is None


# --- browser sessions ----------------------------------------------------------------------------


@pytest.fixture
def browser(make_user, keyed):
    """A browser that is logged in; its cookies and its CSRF token."""
    from django.test import Client

    make_user("ann")
    client = Client(enforce_csrf_checks=True)
    client.get("/login")
    page = {
        "username": "ann",
        "password": "correct horse",
        "csrfmiddlewaretoken": client.cookies["csrftoken"].value,
    }
    response = client.post("/login", page)
    assert response.status_code == 302, response.content
    return client


def cookies(browser):
    return {"Cookie": "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())}


async def test_a_browser_session_reads(ask, browser):
    response = await ask("GET", "/api/conversations/search", headers=cookies(browser))
    assert who(response)["operator"] is False


async def test_a_browser_session_writes_only_with_its_csrf_token(ask, browser):
    headers = cookies(browser)
    refused = await ask("POST", "/api/conversations", json={}, headers=headers)
    token = {"X-CSRFToken": browser.cookies["csrftoken"].value}
    accepted = await ask("POST", "/api/conversations", json={}, headers={**headers, **token})

    assert (refused.status_code, refused.json()["code"]) == (403, "csrf")
    assert accepted.status_code == 200


async def test_a_session_is_worth_nothing_from_another_page(ask, browser, scope_of):
    for origin in ("http://localhost:3000", "https://evil.example"):
        headers = {**cookies(browser), "Origin": origin}
        assert (await ask("GET", "/api/conversations/search", headers=headers)).status_code == 401
        assert await doors.socket_principal(scope_of(origin=origin, cookie=headers["Cookie"])) is None


async def test_a_session_opens_sockets_of_its_own_page(browser, scope_of):
    scope = scope_of(origin="http://127.0.0.1:8000", cookie=cookies(browser)["Cookie"])
    assert (await doors.socket_principal(scope)).operator is False


def test_the_whole_front_is_what_the_server_serves():
    from agentserver import asgi

    cors = asgi.application.application_mapping["http"].application.application
    assert isinstance(cors, Cors)
    assert isinstance(cors.application, Gate)
