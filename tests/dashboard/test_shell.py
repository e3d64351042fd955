"""The bash page: commands as they run, stopping one, pruning by hand."""

import datetime
import re

import pytest
from playwright.sync_api import expect

from tests.dashboard.conftest import database_of
from tests.dashboard.test_hostile import PAYLOAD, harmless


@pytest.fixture
def page(open_page, http):
    http.delete("/api/bash/bash_events").raise_for_status()
    return open_page("/dashboard/bash")


def boxes(page):
    return page.locator("#commands details")


def test_a_command_is_run_and_its_output_is_there_as_it_comes(page):
    page.get_by_role("textbox", name="Command").fill(
        r"printf '\033[31mred\033[0m \033[38;5;208morange'; sleep 60"
    )
    page.get_by_role("button", name="Run").click()

    output = boxes(page).get_by_role("region", name="Output")

    expect(output.locator(".ansi-red-fg")).to_have_text("red")
    expect(output.locator("span", has_text="orange")).to_have_css("color", "rgb(255, 135, 0)")
    expect(boxes(page).locator(".result.busy")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(boxes(page).locator(".result.bad")).to_be_visible()


def test_a_command_of_another_client_appears_and_stays_after_a_reload(page, http):
    http.post("/api/bash/start_bash_command", json={"command": "echo from elsewhere; exit 3"})
    expect(boxes(page).locator(".result.bad")).to_have_text("exit 3")

    page.reload()

    expect(boxes(page)).to_have_count(1)
    expect(boxes(page).get_by_role("region", name="Output")).to_have_text("from elsewhere")
    expect(boxes(page).locator(".result.bad")).to_have_text("exit 3")


@pytest.mark.parametrize("seen", ["as it comes", "after a reload"])
def test_the_end_of_a_long_output_is_shown_complete(page, http, seen):
    count = 200_000
    http.post("/api/bash/execute_bash_command", json={"command": f"seq {count}"}).raise_for_status()
    expect(boxes(page).locator(".result.good")).to_be_visible()
    if seen == "after a reload":
        page.reload()
    output = boxes(page).get_by_role("region", name="Output")
    expect(output).to_contain_text(re.compile(rf"\b{count}\s*$"), timeout=20_000)

    # The first line may be cut; of all that follow none is left out, doubled or out of its place.
    note, _, *lines = output.evaluate("screen => screen.textContent").strip().split("\n")

    assert "left out" in note
    assert lines == [str(number) for number in range(count - len(lines) + 1, count + 1)]
    assert sum(map(len, lines)) > 150_000


def test_what_a_command_prints_never_becomes_markup(page, http, workspace):
    (workspace / "payload").write_text(PAYLOAD)
    http.post(
        "/api/bash/start_bash_command", json={"command": f"cat payload # {PAYLOAD}", "cwd": str(workspace)}
    )

    expect(boxes(page).get_by_role("region", name="Output")).to_contain_text("onerror")

    harmless(page)


def test_pruning_counts_first_and_deletes_on_demand(page, http, agent_server):
    http.post("/api/bash/execute_bash_command", json={"command": "echo old"}).raise_for_status()
    _age(agent_server, days=8)
    http.post("/api/bash/execute_bash_command", json={"command": "echo new"}).raise_for_status()
    page.get_by_label("Older than").select_option("7d")

    page.get_by_role("button", name="Count").click()
    expect(page.locator("#pruned")).to_contain_text("2 events would go")
    page.get_by_role("button", name="Delete 2").click()

    expect(page.locator("#pruned")).to_contain_text("2 events deleted")
    left = http.get("/api/bash/bash_events/search", params={"kind__eq": "BashCommand"}).json()["items"]
    assert [event["command"] for event in left] == ["echo new"]


def _age(server, days):
    """Move all bash events into the past."""
    then = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=days)
    moment = then.strftime("%Y-%m-%d %H:%M:%S.%f")
    with database_of(server) as execute:
        execute("UPDATE bashevents_bashevent SET timestamp = %s", [moment])
        execute("UPDATE bashevents_bashevent SET finished_at = %s WHERE finished_at IS NOT NULL", [moment])
