"""Every page of the admin, narrow and wide, light and dark: axe finds nothing serious, nothing sticks out."""

import subprocess
import sys

import pytest
from django.contrib import admin
from playwright.sync_api import expect

from tests.contract.dialogue import finish, shell
from tests.dashboard import test_accessible
from tests.dashboard.test_accounts import enter, server  # noqa: F401  (fixtures)
from tests.support.server import MANAGE

MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)
PAGES_OF_A_ROW = ("change", "delete", "history")
ANSWERS = [
    ("/admin/conversations/conversation/", "pause", "Pause: 1 done."),
    ("/admin/bashevents/bashevent/", "prune_expired", "There is no retention."),
]
MAKE_ROWS = """
import uuid
from django.contrib.auth.models import Group, User
from agentserver.auth import tokens
from agentserver.configuration import models
from agentserver.webhooks.models import Delivery, Webhook
from conversations.models import Conversation

root, ann = User.objects.get(username="root"), User.objects.get(username="ann")
Group.objects.create(name="readers")
tokens.create(user=ann, name="a program")
models.Settings.objects.create(owner=ann)
models.Secret.objects.create(owner=ann, name="SECRET", value="sealed")
models.LLMProfile.objects.create(owner=ann, name="fast", body="{}")
models.AgentProfile.objects.create(owner=ann, name="careful", profile_id=uuid.uuid4(), body="{}")
models.MetaProfile.objects.create(owner=ann, name="chooses", body="{}")
models.ProviderConnection.objects.create(
    owner=ann, display_name="shared", connection_id="c", api_key="sealed", created_at=1, updated_at=1
)
hook = Webhook.objects.create(
    base_url="https://receiver.example/a/rather/long/path/of/a/receiver",
    enabled=False,
    last_error="refused " * 20,
)
Delivery.objects.create(webhook=hook, conversation=Conversation.objects.get(), failures=2)
"""


@pytest.fixture(scope="module")
def filled(server, llm_url, tmp_path_factory):  # noqa: F811
    """The server with a row of every model; one command failed, one event is long."""
    from tests.contract.dialogue import Dialogue

    server.http.post("/api/bash/execute_bash_command", json={"command": "exit 3"}).raise_for_status()
    llm = {"usage_id": "t", "model": "openai/fake", "base_url": f"{llm_url}/v1", "api_key": "k"}
    agent = {"kind": "Agent", "llm": llm, "tools": [{"name": "terminal", "params": {}}]}
    steps = shell("seq 1 2000"), finish()
    talked = Dialogue.open(server.http, llm_url, agent, tmp_path_factory.mktemp("w"), *steps)
    talked.wait_finished()
    command = [sys.executable, str(MANAGE), "shell", "-v", "0", "-c", MAKE_ROWS]
    subprocess.run(command, check=True, env=server.environment(), timeout=120)
    return talked


@pytest.fixture
def page(enter, filled):  # noqa: F811
    page = enter("/admin/", user="root")
    expect(page.get_by_role("heading", name="Site administration")).to_be_visible()
    return page


def found(page):
    """What axe finds: both widths and both schemes; all four pairs of them would take twice as long."""
    return test_accessible.found(page, looks=[(1440, "light"), (380, "dark")])


def problems(page, *paths):
    """What is found on those of the pages that there are, at least one: (path, width, scheme, finding)."""
    base, noted, opened = page.url.partition("/admin")[0], [], 0
    for path in paths:
        if page.goto(base + path).status == 200:
            opened += 1
            noted += [(path, *one) for one in found(page)]
    assert opened
    return noted


def list_of(model):
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


def row_of(page, model):
    """The path of the first row of a model's list, as far as its key."""
    page.goto(page.url.partition("/admin")[0] + list_of(model))
    links = page.locator("#result_list tbody a[href*='/change/']")
    return links.first.get_attribute("href").partition("change/")[0]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_axe_finds_nothing_serious_on_the_pages_of_a_model(page, model):
    row, listed = row_of(page, model), list_of(model)

    pages = [listed, f"{listed}?q=nothing", f"{listed}add/", *(f"{row}{n}/" for n in PAGES_OF_A_ROW)]

    assert problems(page, *pages) == []


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_axe_finds_nothing_serious_where_a_deletion_is_asked_for(page, model):
    page.goto(page.url.partition("/admin")[0] + list_of(model))
    if not page.locator("option[value=delete_selected]").count():
        assert not page.locator(".actions option[value*=delete]").count()
        return
    page.locator("input[name=_selected_action]").first.check()
    page.get_by_label("Action:").select_option("delete_selected")
    page.get_by_role("button", name="Run", exact=True).or_(page.get_by_role("button", name="Go")).click()
    expect(page.get_by_role("button", name="Yes, I’m sure")).to_be_visible()

    assert found(page) == []


def test_axe_finds_nothing_serious_where_an_action_answers(page):
    for path, action, answer in ANSWERS:
        page.goto(page.url.partition("/admin")[0] + path)
        page.locator("input[name=_selected_action]").first.check()
        page.get_by_label("Action:").select_option(action)
        page.get_by_role("button", name="Run", exact=True).or_(page.get_by_role("button", name="Go")).click()
        expect(page.locator(".messagelist")).to_contain_text(answer)

        assert found(page) == []


def test_axe_finds_nothing_serious_on_pages_of_no_model(page):
    apps = sorted({f"/admin/{model._meta.app_label}/" for model in MODELS})

    assert problems(page, "/admin/", *apps, "/admin/password_change/") == []
    page.get_by_role("button", name="Log out").click()
    assert found(page) == []


def test_axe_finds_nothing_serious_where_a_form_is_refused(page):
    page.goto(page.url.partition("/admin")[0] + "/admin/webhooks/webhook/add/")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".errornote")).to_be_visible()

    assert found(page) == []
