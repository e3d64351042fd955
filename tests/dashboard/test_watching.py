"""Somebody starts an agent, watches it, stops it, lets it go on: in a browser."""

import re

from playwright.sync_api import expect

from tests.contract.conftest import plan
from tests.contract.dialogue import finish, say, shell, think
from tests.contract.kit import Repo
from tests.dashboard.conftest import conversation_path

SLOW = 20


def status(page):
    return page.locator("#status")


def seqs(page):
    """The sequences of the events that are shown, in the order of the page."""
    return page.eval_on_selector_all(
        "#timeline .item", "items => items.map(item => Number(item.dataset.seq))"
    )


def test_a_newcomer_sees_the_demo_run_real_commands(open_page, workspace):
    page = open_page("/dashboard/new")
    expect(page.get_by_label("Demo model")).to_be_checked()

    page.get_by_label("Workspace").fill(str(workspace))
    page.get_by_role("button", name="Start").click()

    expect(page.get_by_role("region", name="Output").first).to_contain_text("demo_count.sh", timeout=60_000)
    expect(page.get_by_text("demo", exact=True)).to_be_visible()
    expect(page.locator("#tokens")).to_have_text(re.compile("^[1-9]"))
    assert (workspace / "demo_count.sh").exists()
    page.get_by_role("button", name="Interrupt").click()
    expect(status(page)).to_have_text("Paused")


def test_text_is_shown_while_the_model_says_it(open_page, talk):
    talked = talk(say("first half and second half", chunks=2, gap=SLOW), run=False)
    page = open_page(conversation_path(talked))

    page.get_by_role("button", name="Run", exact=True).click()
    speaking = page.get_by_label("The agent is speaking")

    expect(speaking).to_contain_text("first half")
    assert talked.of_kind("ActionEvent") == []
    talked.ok("interrupt")
    expect(speaking).to_have_count(0)


def test_who_comes_in_the_middle_of_an_answer_sees_it_from_its_beginning(open_page, talk):
    talked = talk(say("first half and second half", chunks=2, gap=SLOW))
    first = open_page(conversation_path(talked))
    expect(first.get_by_label("The agent is speaking")).to_contain_text("first half")

    second = open_page(conversation_path(talked))
    first.reload()

    for page in (first, second):
        expect(page.get_by_label("The agent is speaking")).to_contain_text("first half")
    talked.ok("interrupt")


def test_pause_lets_the_step_end_and_run_goes_on(open_page, talk):
    steps = [think("one", delay=1.5), think("two", delay=1.5), finish("all done")]
    page = open_page(conversation_path(talk(*steps)))
    expect(status(page)).to_have_text("Running")

    page.get_by_role("button", name="Pause").click()
    expect(status(page)).to_have_text("Paused")
    page.get_by_role("button", name="Run", exact=True).click()

    expect(status(page)).to_have_text("Finished")
    expect(page.get_by_text("all done", exact=True)).to_be_visible()


def test_interrupt_ends_the_model_call_in_flight(open_page, talk):
    talked = talk(think("late", delay=SLOW))
    page = open_page(conversation_path(talked))
    talked.wait_llm_call()

    page.keyboard.press("i")

    expect(status(page)).to_have_text("Paused")
    assert talked.llm_calls("cancelled")
    expect(page.locator(".marker", has_text="Interrupted")).to_be_visible()


def test_interrupt_ends_the_command_that_runs_and_says_so(open_page, talk):
    page = open_page(conversation_path(talk(shell("echo begun; sleep 60"))))
    expect(page.locator("#timeline .result.busy")).to_be_visible()

    page.get_by_role("button", name="Interrupt").click()

    expect(status(page)).to_have_text("Paused")
    expect(page.locator("#timeline .result.busy")).to_have_count(0)
    expect(page.locator(".action.bad")).to_be_visible()


def test_an_action_waits_for_a_yes(open_page, talk, workspace):
    policy = {"kind": "AlwaysConfirm"}
    steps = [shell("touch allowed"), shell("touch refused"), finish("bye")]
    page = open_page(conversation_path(talk(*steps, confirmation_policy=policy)))
    expect(status(page)).to_have_text("Needs approval")
    expect(page.locator("#waiting")).to_contain_text("touch allowed")

    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#waiting")).to_contain_text("touch refused")
    page.get_by_label("Reason for rejecting").fill("not this one")
    page.get_by_role("button", name="Reject").click()

    expect(page.locator(".action.bad")).to_contain_text("not this one")
    assert (workspace / "allowed").exists()
    assert not (workspace / "refused").exists()


def test_a_message_from_the_box_reaches_the_agent(open_page, talk):
    talked = talk(finish("ready"))
    page = open_page(conversation_path(talked))
    expect(status(page)).to_have_text("Finished")

    page.get_by_role("textbox", name="Message").fill(
        "And **now**? " + plan(finish("second answer"), strict=True)
    )
    page.keyboard.press("Enter")

    expect(page.get_by_text("second answer", exact=True)).to_be_visible()
    expect(page.locator(".message.user strong")).to_have_text("now")
    expect(page.locator(".pending")).to_have_count(0)


def test_a_reload_in_the_middle_of_a_run_shows_the_same_and_goes_on(open_page, talk):
    steps = [shell("echo one"), shell("echo two", delay=3), finish("three")]
    page = open_page(conversation_path(talk(*steps)))
    expect(page.get_by_role("region", name="Output")).to_have_count(1)

    page.reload()

    expect(page.get_by_text("three", exact=True)).to_be_visible()
    expect(page.get_by_role("region", name="Output")).to_have_count(2)
    shown = seqs(page)
    assert shown == sorted(set(shown))


def test_two_browsers_see_and_control_one_conversation(open_page, talk):
    talked = talk(shell("echo here"), think("slow", delay=SLOW))
    first, second = open_page(conversation_path(talked)), open_page(conversation_path(talked))
    talked.wait_for("ObservationEvent")
    talked.wait_llm_call()

    first.get_by_role("button", name="Interrupt").click()

    for page in (first, second):
        expect(status(page)).to_have_text("Paused")
        expect(page.locator(".marker", has_text="Interrupted")).to_be_visible()
    assert seqs(first) == seqs(second)


def test_an_edit_is_shown_as_a_difference_and_changed_files_are_listed(open_page, talk, workspace):
    repository = Repo(workspace)
    repository.commit(**{"notes.txt": "alpha\nbeta\n"})
    file = workspace / "notes.txt"
    edit = {"command": "str_replace", "path": str(file), "old_str": "beta", "new_str": "gamma"}
    page = open_page(conversation_path(talk({"tool": "file_editor", "args": edit}, finish("edited"))))
    difference = page.locator("#timeline").get_by_role("region", name=f"Changes of {file}")
    expect(difference.locator(".removed")).to_contain_text("-beta")
    expect(difference.locator(".added")).to_contain_text("+gamma")

    page.get_by_role("tab", name="Changes").click()
    page.locator("#changes").get_by_text("notes.txt").click()

    expect(page.locator("#changes .removed")).to_contain_text("-beta")
    expect(page.locator("#changes .added")).to_contain_text("+gamma")


def test_json_of_an_event_and_the_chart_are_there_on_demand(open_page, talk):
    page = open_page(conversation_path(talk(think("deep"), finish("done"))))
    expect(status(page)).to_have_text("Finished")

    page.get_by_label("JSON of this ActionEvent").first.click()
    expect(page.locator("#json pre")).to_contain_text('"tool_name": "think"')
    page.get_by_role("button", name="Close").click()
    page.get_by_role("tab", name="Usage").click()

    expect(page.locator("#usage canvas")).to_have_count(2)


def test_the_list_filters_in_the_url(open_page, talk, http, base_url):
    talked = talk(think("slow", delay=SLOW))
    http.patch(talked.path, json={"title": "Watch the list"}).raise_for_status()
    page = open_page("/dashboard/?q=watch+the+LIST&status=running")
    row = page.locator("tbody tr")
    expect(row).to_have_count(1)

    page.get_by_role("searchbox").fill("nothing has this name")

    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
    expect(page).to_have_url(re.compile("q=nothing.*status=running|status=running.*q=nothing"))
    talked.ok("interrupt")


def test_the_list_stays_fresh(open_page, talk, http):
    talked = talk(think("slow", delay=SLOW))
    http.patch(talked.path, json={"title": "Freshly listed"}).raise_for_status()
    page = open_page("/dashboard/")
    row = page.locator("tbody tr", has_text="Freshly listed")
    expect(row.locator(".status")).to_have_text("Running")

    talked.ok("interrupt")

    expect(row.locator(".status")).to_have_text("Paused", timeout=10_000)
