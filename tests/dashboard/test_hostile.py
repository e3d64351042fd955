"""Whatever an agent, a tool or another user wrote is text: in a browser, with a payload in every field."""

import re

import pytest
from playwright.sync_api import expect

from tests.contract.dialogue import finish, shell, think
from tests.contract.kit import Repo
from tests.dashboard.conftest import conversation_path
from tests.dashboard.test_many_events import event, stored_events

PAYLOAD = (
    "<img src=x onerror=\"window.hacked='img'\"><script>window.hacked='script'</script>"
    "<svg/onload=\"window.hacked='svg'\"><iframe srcdoc=\"<script>parent.hacked='frame'</script>\"></iframe>"
    "\"'><a href=\"javascript:window.hacked='link'\">x</a> [y](javascript:window.hacked='md') "
    "![z](https://tracker.example/p.png) <style>body{display:none}</style> "
    "\x1b]8;;javascript:window.hacked=1\x07t\x1b]8;;\x07 "
    "\x1b[31;1m<b>red</b> {{7*7}} ${alert(1)} </textarea></title><form action=https://x.example>"
)


def hostile(value):
    """``value`` with the payload in the place of every text, and as a key."""
    if isinstance(value, str):
        return PAYLOAD
    if isinstance(value, list):
        return [hostile(one) for one in value]
    if isinstance(value, dict):
        return {**{key: hostile(one) for key, one in value.items()}, PAYLOAD: PAYLOAD}
    return value


CONTENT = [{"type": "text", "text": "t"}]
FIELDS = {
    "MessageEvent": [
        {"llm_message": {"role": "r", "content": CONTENT, "reasoning_content": "r"}, "reasoning_content": "r"}
    ],
    "ActionEvent": [
        {
            "tool_name": tool,
            "tool_call_id": "c",
            "thought": CONTENT,
            "reasoning_content": "r",
            "summary": "s",
            "action": {"command": "c", "path": "p", "message": "m", "thought": "t", "other": ["o"]},
        }
        for tool in ("terminal", "file_editor", "finish", "think", "unknown")
    ],
    "ObservationEvent": [
        {"tool_name": "t", "observation": {"content": CONTENT, "is_error": True, "command": "c"}},
        {"tool_name": "t", "observation": {"path": "p", "old_content": "o", "new_content": "n\nm"}},
    ],
    "AgentErrorEvent": [{"error": "e", "tool_name": "t"}],
    "UserRejectObservation": [{"rejection_reason": "r"}],
    "ConversationErrorEvent": [{"code": "c", "detail": "d"}],
    "PauseEvent": [{"reason": "r"}],
    "InterruptEvent": [{"reason": "r"}],
    "Condensation": [{"summary": "s"}],
    "ConversationStateUpdateEvent": [{"key": "k", "value": "v"}, {"key": "k", "value": {"a": "v"}}],
    "SystemPromptEvent": [{"system_prompt": {"type": "t", "text": "t"}, "tools": [{"title": "t"}]}],
    PAYLOAD: [{"anything": "a"}],
}
SHOWN_APART = {"terminal", "file_editor", "finish", "think"}
"""Tools with a view of their own: their names stay as they are, so that each view is met."""


def hostile_events():
    made = []
    for kind, variants in FIELDS.items():
        for fields in variants:
            attacked = hostile(fields)
            if fields.get("tool_name") in SHOWN_APART:
                attacked["tool_name"] = fields["tool_name"]
            made.append(event(len(made), kind=kind, **attacked))
            made[-1] |= {"timestamp": "2026-01-01T00:00:00.000000", "source": PAYLOAD[:32]}
            if kind == "ActionEvent":  # once without and once with a result, plain and edited
                for result in FIELDS["ObservationEvent"]:
                    made.append({**made[-1], "id": f"made-{len(made)}"})
                    made.append(
                        event(len(made), "ObservationEvent", action_id=made[-1]["id"], **hostile(result))
                    )
    return made


@pytest.fixture
def attacked(talk, agent_server, http):
    """A conversation whose every text is hostile, also its title, tags and workspace."""
    talked = talk(tags={"key": PAYLOAD[:250]})
    http.patch(talked.path, json={"title": PAYLOAD[:190]}).raise_for_status()
    stored_events(agent_server, talked.id, hostile_events())
    return talked


def harmless(page):
    """Nothing of the payload ran, and nothing of it became an element of the page."""
    assert page.evaluate("window.hacked") is None
    assert (
        page.locator("#timeline, #live, dialog, .page, .bar, .panel")
        .locator("img[src=x], script, iframe, style, form[action*=example], a[href^=javascript], [onerror]")
        .all()
        == []
    )
    assert page.evaluate("getComputedStyle(document.body).display") != "none"


def test_nothing_in_any_field_of_any_event_becomes_markup(open_page, attacked):
    page = open_page(conversation_path(attacked))
    expect(page.locator("#timeline .item").last).to_be_visible()
    page.get_by_label("Show internal events").check()
    expect(page.locator("#timeline .item")).to_have_count(len(hostile_events()))

    page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
    for button in page.locator("#timeline .more").all()[:3]:
        button.click()
        page.get_by_role("button", name="Close").click()
    for name in ("Changes", "Usage", "About"):
        page.get_by_role("tab", name=name).click()

    harmless(page)
    assert "window.hacked='img'" in page.locator("#timeline").inner_text()


def test_nothing_in_what_a_model_streams_or_a_command_prints_becomes_markup(open_page, talk, workspace):
    (workspace / "payload").write_text(PAYLOAD)
    steps = [shell("cat payload", say=PAYLOAD), think(PAYLOAD), finish(PAYLOAD)]
    talked = talk(*steps, run=False)
    page = open_page(conversation_path(talked))

    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#status")).to_have_text("Finished")

    harmless(page)
    expect(page.get_by_role("region", name="Output")).to_contain_text("onerror")


def test_nothing_in_the_name_or_the_text_of_a_changed_file_becomes_markup(open_page, talk, workspace):
    Repo(workspace).commit(first="kept")
    (workspace / "<img src=x onerror=window.hacked='name'>").write_text(PAYLOAD)
    page = open_page(conversation_path(talk(finish("done"))))
    expect(page.locator("#status")).to_have_text("Finished")

    page.get_by_role("tab", name="Changes").click()
    page.locator("#changes summary").click()

    expect(page.locator("#changes .added").first).to_contain_text("onerror")
    harmless(page)


def test_nothing_in_the_list_or_a_search_becomes_markup(open_page, attacked):
    page = open_page("/dashboard/?sort=created")
    expect(page.get_by_role("link", name="<img src=x").first).to_be_visible()

    page.get_by_role("searchbox").fill(PAYLOAD)
    expect(page).to_have_url(re.compile("hacked"))

    harmless(page)
