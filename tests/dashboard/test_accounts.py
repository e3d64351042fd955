"""With keys and accounts: who comes in, what they see, their tokens, and the admin of the staff."""

import io
import re
import subprocess
import sys
import zipfile

import httpx
import pytest
from playwright.sync_api import expect

from tests.contract.dialogue import Dialogue, think
from tests.support.server import MANAGE, OwnServer
from tests.support.waiting import wait_until

KEY, PASSWORD = "operators-key", "correct horse battery"
SLOW = 30
MAKE_USERS = f"""
from django.contrib.auth.models import User
User.objects.create_superuser("root", password={PASSWORD!r})
User.objects.create_user("ann", password={PASSWORD!r})
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with a session key, a member of staff (root) and a user (ann)."""
    server = OwnServer(tmp_path_factory.mktemp("keyed"), OH_SESSION_API_KEYS_0=KEY)
    server.start().wait_ready()
    command = [sys.executable, str(MANAGE), "shell", "-c", MAKE_USERS]
    subprocess.run(command, check=True, env=server.environment(), stdout=subprocess.DEVNULL, timeout=120)
    yield server
    server.stop()


@pytest.fixture
def enter(open_page, server):
    """Callable: a page of a browser that logs in with an account, or with the session key."""

    def _enter(path, user=None):
        page = open_page(path, base=server.url)
        if user is None:
            page.get_by_label("Session key").fill(KEY)
        else:
            page.get_by_label("Username").fill(user)
            page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        return page

    return _enter


@pytest.fixture
def run_of(server, llm_url, agent_config, workspace):
    """Callable: a conversation with these steps, of the operator or of whoever has the ``token``."""
    opened = []

    def _run_of(*steps, token=None):
        http = httpx.Client(base_url=server.url, headers={"X-Session-API-Key": token or KEY}, timeout=30)
        opened.append(http)
        return Dialogue.open(http, llm_url, agent_config, workspace, *steps)

    yield _run_of
    for http in opened:
        http.close()


def path_of(talked):
    return f"/dashboard/conversations/{talked.id}"


def made_token(page, name):
    page.get_by_label("What is it for?").fill(name)
    page.get_by_role("button", name="Make a token").click()
    return page.locator("#token").inner_text()


@pytest.mark.parametrize("width", [1440, 380])
def test_who_is_in_can_leave(enter, width):
    page = enter("/dashboard/", "root")
    page.set_viewport_size({"width": width, "height": 800})

    page.get_by_role("button", name="Log out").click()

    expect(page.get_by_label("Password")).to_be_visible()


def test_a_stranger_logs_in_and_comes_back_to_the_page_and_can_act(enter, run_of):
    talked = run_of(think("late", delay=SLOW))
    page = enter(path_of(talked))
    expect(page).to_have_url(re.compile(path_of(talked)))
    talked.wait_llm_call()

    page.get_by_role("button", name="Interrupt").click()

    expect(page.locator("#status")).to_have_text("Paused")
    expect(page.locator(".marker", has_text="Interrupted")).to_be_visible()


@pytest.mark.parametrize("path", ["", "new", "bash", "operations", "tokens", "bash/commands"])
def test_no_page_is_open_to_strangers(server, path):
    answer = httpx.get(f"{server.url}/dashboard/{path}")

    assert (answer.status_code, answer.headers["Location"].partition("?")[0]) == (302, "/login")


def test_a_user_sees_and_controls_only_their_own(enter, run_of):
    page = enter("/dashboard/tokens", user="ann")
    own, foreign = run_of(think("late", delay=SLOW), token=made_token(page, "mine")), run_of()

    page.goto(page.url.replace("tokens", ""))
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(page.get_by_role("link", name="Bash")).to_have_count(0)
    rows.get_by_role("link").click()
    expect(page.locator("#status")).to_have_text("Running")
    page.get_by_role("button", name="Interrupt").click()
    expect(page.locator("#status")).to_have_text("Paused")

    assert own.status == "paused"
    base = page.url.partition("/dashboard")[0]
    for part in ("", "/events", "/usage"):
        assert page.request.get(f"{base}{path_of(foreign)}{part}").status == 404
    for part in ("bash", "bash/commands", "operations", "operations/numbers"):
        assert page.request.get(f"{base}/dashboard/{part}").status == 403


def test_a_token_is_shown_once_works_and_ends_when_it_is_revoked(enter, server):
    page = enter("/dashboard/tokens", user="ann")
    text = made_token(page, "for the test")
    count = f"{server.url}/api/conversations/count"
    assert httpx.get(count, headers={"X-Session-API-Key": text}).status_code == 200

    page.goto(page.url)
    expect(page.get_by_text("for the test")).to_be_visible()
    assert text not in page.content()
    page.get_by_role("button", name="Revoke for the test").click()

    expect(page.get_by_text("for the test")).to_have_count(0)
    assert httpx.get(count, headers={"X-Session-API-Key": text}).status_code == 401


def test_a_write_without_the_csrf_token_is_refused(enter, run_of):
    talked = run_of(think("late", delay=SLOW))
    page = enter(path_of(talked))
    expect(page.locator("#status")).to_have_text("Running")
    base = page.url.partition("/dashboard")[0]

    api = page.request.post(f"{base}/api/conversations/{talked.id}/interrupt")
    form = page.request.post(f"{base}/dashboard/bash/prune", form={"age": "1h", "delete": "yes"})

    assert (api.status, form.status) == (403, 403)
    assert talked.status == "running"
    talked.ok("interrupt")


def test_the_admin_interrupts_exports_and_deletes(enter, run_of):
    talks = [run_of(think("late", delay=SLOW)), run_of(think("later", delay=SLOW))]
    page = enter("/admin/conversations/conversation/", user="root")

    _choose(page, talks, "Interrupt")
    expect(page.get_by_text("interrupt: 2 done.")).to_be_visible()
    assert [talked.status for talked in talks] == ["paused", "paused"]
    with page.expect_download() as download:
        _choose(page, talks, "Export as a zip, without secrets")
    names = zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())).namelist()
    assert {name.partition("/")[0] for name in names} == {talked.id.replace("-", "") for talked in talks}
    page.reload()
    _choose(page, talks, "Delete selected conversations")
    expect(page.get_by_text("events").first).to_be_visible()
    page.get_by_role("button", name="Yes, I’m sure").click()

    expect(page.get_by_text("delete: 2 done.")).to_be_visible()
    wait_until(lambda: [talked.http.get(talked.path).status_code for talked in talks] == [404, 404])


def test_every_page_of_the_admin_opens_under_the_same_policy(enter):
    page = enter("/admin/", user="root")
    base = page.url.partition("/admin")[0]
    lists = page.eval_on_selector_all("#content-main th a", "links => links.map(link => link.pathname)")
    assert len(lists) >= 10

    for path in lists:
        answer = page.goto(base + path)

        assert answer.status == 200, path
        assert "script-src 'self';" in answer.headers["content-security-policy"]


def _choose(page, talks, action):
    for talked in talks:
        page.locator(f"input[name=_selected_action][value='{talked.id}']").check()
    page.get_by_label("Action:").select_option(label=action)
    page.get_by_role("button", name="Run", exact=True).or_(page.get_by_role("button", name="Go")).click()
