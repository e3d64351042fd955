"""Every page, narrow and wide, light and dark: axe finds nothing serious, nothing sticks out, keys do."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.contract.dialogue import UNKNOWN, finish, say, shell, think
from tests.dashboard.conftest import conversation_path

AXE = (Path(__file__).parent / "vendor" / "axe.js").read_text()
RUN = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .filter(one => ["serious", "critical"].includes(one.impact))
  .map(one => one.id + ": " + one.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(" | "))"""
LOOKS = [(1440, "light"), (1440, "dark"), (380, "light"), (380, "dark")]


def found(page, looks=LOOKS):
    """What axe and a ruler find, in each of ``looks``: (width, scheme, finding)."""
    page.evaluate(AXE)
    findings = []
    for width, scheme in looks:
        page.set_viewport_size({"width": width, "height": 800})
        # Colours on their way from one scheme to the other are nobody's: they would be measured.
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        findings += [(width, scheme, one) for one in page.evaluate(RUN)]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            findings.append((width, scheme, "sticks out"))
    return findings


@pytest.fixture(scope="module")
def seen(agent_server):
    """Something to be seen: a command that went well and one that did not."""
    import httpx

    for command in (r"printf '\033[31mred\033[0m \033[34mblue'", "exit 3"):
        body = {"command": command}
        httpx.post(f"{agent_server.url}/api/bash/execute_bash_command", json=body).raise_for_status()


@pytest.mark.parametrize(
    "path", ["", "?status=error", "new", "bash", "operations", "tokens", f"conversations/{UNKNOWN}"]
)
def test_axe_finds_nothing_serious_on_a_page(open_page, seen, path):
    page = open_page(f"/dashboard/{path}")
    page.wait_for_load_state("networkidle")

    assert found(page) == []


def test_axe_finds_nothing_serious_at_the_door(open_page):
    assert found(open_page("/login")) == []


@pytest.fixture
def rich(talk, workspace, http):
    """A conversation with one of everything, and a long title, that waits for a yes in the end."""
    file = workspace / "notes.txt"
    file.write_text("alpha\nbeta\n")
    edit = {"command": "str_replace", "path": str(file), "old_str": "beta", "new_str": "gamma"}
    talked = talk(
        shell("echo fine", say="A thought with `code`, **bold** and a [link](https://example.org)."),
        shell("echo bad; false"),
        {"tool": "file_editor", "args": edit},
        {"tool": "file_editor", "args": {"command": "view", "path": "/nowhere/at/all"}},
        think("hm"),
        finish("# Done\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```\ncode\n```"),
    )
    talked.wait_status("finished")
    talked.ok("confirmation_policy", {"policy": {"kind": "AlwaysConfirm"}})
    talked.tell(shell("rm -rf everything"))
    talked.wait_status("waiting_for_confirmation")
    http.patch(talked.path, json={"title": "A title that is longer than any screen " * 4}).raise_for_status()
    return talked


def test_axe_finds_nothing_serious_in_a_conversation(open_page, rich):
    page = open_page(conversation_path(rich))
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    expect(page.locator(".diff .added")).to_be_visible()
    page.get_by_label("Show internal events").check()

    for name in ("About", "Usage", "Changes"):
        page.locator(f"[role=tab]:text('{name}')").evaluate("tab => tab.click()")
        assert found(page) == []
    page.get_by_role("button", name="Details").click()
    assert found(page) == []


def test_a_keyboard_alone_runs_the_page(open_page, talk):
    talked = talk(say("one"), run=False)
    page = open_page(conversation_path(talked))
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()

    page.keyboard.press("r")
    expect(page.locator("#status")).to_have_text("Finished")
    page.get_by_role("region", name="Events").focus()
    page.keyboard.press("j")
    expect(page.locator(".item:focus")).to_have_count(1)
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
    page.get_by_label("Single keys are shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.get_by_role("region", name="Events").focus()
    page.keyboard.press("/")

    expect(page.get_by_role("textbox", name="Message")).not_to_be_focused()
