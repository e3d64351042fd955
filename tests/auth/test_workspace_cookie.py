"""The cookie for workspace files opens those alone, for as long as what bought it is good."""

import pytest

from agentserver.auth import doors, keys, workspace_cookie
from tests.auth.conftest import who

FILE = "/api/conversations/0000/workspace/page.html"
pytestmark = pytest.mark.django_db(transaction=True)


def cookie(value):
    return {"Cookie": f"other=1; {workspace_cookie.NAME}={value}"}


def bought(key):
    return workspace_cookie.value_for(doors.OPERATOR, key.encode())


async def test_the_cookie_opens_files_and_nothing_else(ask, keyed):
    headers = cookie(bought(keyed))
    assert who(await ask("GET", FILE, headers=headers))["operator"]
    assert (await ask("HEAD", FILE, headers=headers)).status_code == 200
    for method, path in [
        ("POST", FILE),
        ("DELETE", FILE),
        ("GET", "/api/conversations/0000"),
        ("GET", "/api/conversations/0000/workspaces/x"),
        ("GET", "/api/file/download"),
        ("GET", "//api/conversations/0000/workspace/x"),
    ]:
        assert (await ask(method, path, headers=headers)).status_code == 401, (method, path)


def test_a_stolen_cookie_is_no_key(keyed):
    value = bought(keyed)
    assert keyed not in value
    assert keys.matches(value.encode()) is None


async def test_the_cookie_ends_with_the_key_that_bought_it(ask, keyed, configure):
    headers = cookie(bought(keyed))
    configure(session_api_keys=["another-key"])
    assert (await ask("GET", FILE, headers=headers)).status_code == 401


@pytest.mark.parametrize("value", ["", "o", "kx:1:2", "u1", "\xff", "x" * 5000, "o:1aaaaa:" + "b" * 43])
async def test_a_made_up_cookie_opens_nothing(ask, keyed, value):
    headers = [(b"Cookie", f"{workspace_cookie.NAME}={value}".encode("latin-1"))]
    assert (await ask("GET", FILE, headers=headers)).status_code == 401


def test_a_users_cookie_is_theirs_while_they_are_active(make_user):
    user = make_user("ann")
    value = workspace_cookie.value_for(doors.Principal(operator=False, user_id=user.pk), None)
    assert workspace_cookie.principal_of(value).user_id == user.pk

    user.is_active = False
    user.save()
    assert workspace_cookie.principal_of(value) is None


def test_it_is_written_for_frames_of_other_sites():
    text = workspace_cookie.written("value", secure=True)
    for part in ("HttpOnly", "Secure", "SameSite=none", "Partitioned", "Path=/api/conversations"):
        assert part in text
    assert "Max-Age=0" in workspace_cookie.written("", secure=True)
