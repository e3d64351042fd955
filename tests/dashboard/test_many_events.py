"""A conversation with ten thousand events, and one whose server goes away and comes back."""

import json
import uuid

import pytest
from playwright.sync_api import expect

from tests.contract.dialogue import finish, shell, think, thinking
from tests.dashboard.conftest import conversation_path, database_of, only_ours
from tests.dashboard.test_watching import seqs, status

MANY = 10_000


def stored_events(server, conversation_id, payloads):
    """Append events to a conversation as if it had had them; a column takes 64 characters of a kind."""
    key = uuid.UUID(conversation_id).hex
    with database_of(server) as execute:
        (first,) = execute(
            "SELECT next_sequence FROM conversations_conversation WHERE id = %s", [key]
        ).fetchone()
        for number, one in enumerate(payloads, first):
            execute(
                "INSERT INTO conversations_event (conversation_id, sequence, event_id, kind, source,"
                " timestamp, body, payload) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
                [
                    key,
                    number,
                    one["id"],
                    one["kind"][:64],
                    one["source"],
                    one["timestamp"],
                    "",
                    json.dumps(one),
                ],
            )
        execute(
            "UPDATE conversations_conversation SET next_sequence = %s WHERE id = %s",
            [first + len(payloads), key],
        )


def event(number, kind="MessageEvent", source="agent", **fields):
    head = {"id": f"made-{number}", "timestamp": "2026-01-01T00:00:00.000000", "source": source, "kind": kind}
    return {**head, **fields}


def message(number, text):
    return event(number, llm_message={"role": "assistant", "content": [{"type": "text", "text": text}]})


@pytest.fixture
def long_conversation(talk, agent_server):
    talked = talk()
    stored_events(agent_server, talked.id, [message(n, f"message number {n}") for n in range(MANY)])
    return talked


def test_ten_thousand_events_are_shown_with_few_elements_and_none_missing(open_page, long_conversation):
    page = open_page(conversation_path(long_conversation))
    expect(page.get_by_text(f"message number {MANY - 1}", exact=True)).to_be_in_viewport()

    page.get_by_role("region", name="Events").focus()
    page.keyboard.press("g")
    expect(page.get_by_text("message number 0", exact=True)).to_be_in_viewport()
    at_start = seqs(page)
    page.keyboard.press("G")
    expect(page.get_by_text(f"message number {MANY - 1}", exact=True)).to_be_in_viewport()

    assert at_start[:50] == list(range(at_start[0], at_start[0] + 50))
    assert len(seqs(page)) < 1000


SCROLL = """async (scroller) => {
  const looked = [];
  for (let step = 0; step < 60 && scroller.scrollTop > 0; step++) {
    scroller.scrollBy(0, -3 * scroller.clientHeight);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const seqs = [...document.querySelectorAll("#timeline .item")].map((item) => Number(item.dataset.seq));
    looked.push({seqs, elements: document.querySelectorAll("*").length});
  }
  return looked;
}"""


def test_scrolling_through_ten_thousand_events_keeps_few_elements_at_any_moment(open_page, long_conversation):
    page = open_page(conversation_path(long_conversation))
    expect(page.get_by_text(f"message number {MANY - 1}", exact=True)).to_be_in_viewport()

    looked = page.get_by_role("region", name="Events").evaluate(SCROLL)

    assert min(looked[-1]["seqs"]) < MANY - 1000  # it has come far
    for seen in looked:
        assert seen["seqs"] == sorted(set(seen["seqs"]))
        assert seen["elements"] < 6000


def test_scrolling_up_is_not_thrown_back_by_new_events(open_page, talk):
    talked = talk(*thinking(12), finish("first end"))
    page = open_page(conversation_path(talked), height=500)
    expect(page.get_by_text("first end", exact=True)).to_be_in_viewport()
    page.get_by_role("region", name="Events").focus()
    page.keyboard.press("g")
    expect(page.get_by_label("You said")).to_be_in_viewport()

    talked.tell(finish("news"))
    expect(page.get_by_role("button", name="New events")).to_be_visible()

    expect(page.get_by_label("You said").first).to_be_in_viewport()
    page.get_by_role("button", name="New events").click()
    expect(page.get_by_text("news", exact=True)).to_be_in_viewport()


def test_an_action_and_its_result_find_each_other_across_chunks(open_page, talk, agent_server):
    talked = talk()
    call = event(99, "ActionEvent", tool_name="terminal", tool_call_id="c", action={"command": "echo far"})
    seen = {"content": [{"type": "text", "text": "the far result"}], "exit_code": 0}
    back = event(100, "ObservationEvent", "environment", action_id="made-99", observation=seen)
    made = [message(n, f"message {n}") for n in range(99)]
    rest = [message(n, f"message {n}") for n in range(101, 400)]
    stored_events(agent_server, talked.id, [*made, call, back, *rest])
    page = open_page(conversation_path(talked))
    expect(page.get_by_text("message 399", exact=True)).to_be_in_viewport()

    page.get_by_role("region", name="Events").focus()
    page.keyboard.press("g")

    expect(page.get_by_role("region", name="Output")).to_have_text("the far result")
    expect(page.get_by_label("Result", exact=True)).to_have_count(0)


def test_a_server_that_goes_away_and_comes_back_costs_no_event_and_doubles_none(
    open_page, talk, agent_server
):
    only_ours(agent_server)
    talked = talk(shell("echo before"), think("slow", delay=60))
    page = open_page(conversation_path(talked))
    page.tolerant = True  # the browser complains about refused connections
    expect(page.get_by_role("region", name="Output")).to_contain_text("before")

    agent_server.kill()
    expect(page.locator("#banner")).to_be_visible()
    agent_server.start(port=agent_server.port).wait_ready()
    expect(page.locator("#banner")).to_be_hidden(timeout=30_000)
    expect(status(page)).to_have_text("Failed", timeout=30_000)
    talked.tell(finish("after the restart"))

    expect(page.get_by_text("after the restart", exact=True)).to_be_visible(timeout=30_000)
    shown = seqs(page)
    assert shown == sorted(set(shown))
    page.reload()
    expect(page.get_by_text("after the restart", exact=True)).to_be_visible()
    assert seqs(page) == shown
