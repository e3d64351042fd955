"""The events of a conversation over REST: send messages, search, count, fetch."""

# ruff: noqa: F811  (fixtures are imported by name)

import datetime
import json
import time

import pytest

from tests.contract.conftest import new_id, user_message
from tests.contract.dialogue import (  # noqa: F401  (talk is a fixture)
    UNKNOWN,
    Dialogue,
    finish,
    message_texts,
    observation_text,
    observations,
    say,
    shell,
    talk,
    text_of,
    think,
    write,
)
from tests.contract.kit import has_detail

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4"
    "DwABBAEAX+XDSwAAAABJRU5ErkJggg=="
)


def ids_of(events):
    return [event["id"] for event in events]


def without_nulls(value):
    """REST lists leave fields without a value out, single events have them as null."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def at_rest(conversation):
    """The events once no more are coming."""
    previous = None
    for _ in range(100):
        events = conversation.events()
        if events == previous:
            return events
        previous = events
        time.sleep(0.25)
    raise AssertionError("events keep coming")


@pytest.fixture(scope="module")
def told(http, llm_url, agent_config, tmp_path_factory):
    """A finished conversation: two messages, a command, a thought, an answer.  Read it only."""
    workspace = tmp_path_factory.mktemp("workspace")
    conversation = Dialogue.open(http, llm_url, agent_config, workspace)
    conversation.send("Vorab schöne Grüße", run=False)
    conversation.tell(shell("echo hi"), think("hm"), say("Schöne Grüße: 100% of under_scores"))
    conversation.wait_finished()
    conversation.recorded = at_rest(conversation)
    yield conversation
    conversation.delete()


@pytest.fixture
def search(told, http):
    """Callable: one page of the events of ``told``."""

    def _search(**params):
        response = http.get(f"{told.path}/events/search", params=params)
        assert response.status_code == 200, response.text
        return response.json()

    return _search


@pytest.fixture
def count(told, http):
    def _count(**params):
        response = http.get(f"{told.path}/events/count", params=params)
        assert response.status_code == 200, response.text
        return response.json()

    return _count


# Sending messages


@pytest.mark.parametrize("run", [{}, {"run": False}], ids=["run left out", "run false"])
def test_a_message_is_recorded_and_not_run_unless_asked(talk, http, run):
    conversation = talk()
    message = user_message(conversation.script(finish())) | run
    response = http.post(f"{conversation.path}/events", json=message)
    assert response.status_code == 200 and response.json() == {"success": True}
    assert len(message_texts(conversation.events(), "user")) == 1
    time.sleep(0.4)
    assert conversation.status == "idle" and conversation.llm_calls() == []


def test_a_message_with_run_true_is_run(talk, http):
    conversation = talk()
    message = user_message(conversation.script(finish("ran")), run=True)
    assert http.post(f"{conversation.path}/events", json=message).status_code == 200
    conversation.wait_finished()
    assert conversation.final_response == "ran"


def test_a_recorded_message_is_what_was_sent(talk):
    conversation = talk()
    conversation.send("Ĉu vi aŭdas min? 🎧\n\tsecond line", run=False)
    (event,) = conversation.of_kind("MessageEvent")
    assert event["source"] == "user"
    assert event["llm_message"]["role"] == "user"
    assert text_of(event["llm_message"]["content"]) == "Ĉu vi aŭdas min? 🎧\n\tsecond line"
    assert conversation.get()["last_user_message_id"] == event["id"]


def test_the_first_message_comes_after_the_system_prompt(talk):
    conversation = talk()
    conversation.send("hello", run=False)
    first, second = conversation.events()[:2]
    assert (first["kind"], first["source"]) == ("SystemPromptEvent", "agent")
    assert first["system_prompt"]["text"] and first["tools"]
    assert second["kind"] == "MessageEvent"


def test_the_system_prompt_lists_the_tools_of_the_agent(talk):
    conversation = talk()
    conversation.send("hello", run=False)
    tools = conversation.of_kind("SystemPromptEvent")[0]["tools"]
    assert {"terminal", "file_editor", "finish", "think"} <= {
        tool.get("name") or tool.get("title") for tool in tools
    }


def test_a_message_may_have_several_parts_and_images(talk, http):
    conversation = talk()
    content = [
        {"type": "text", "text": "look"},
        {"type": "image", "image_urls": [PIXEL]},
        {"type": "text", "text": "here"},
    ]
    response = http.post(f"{conversation.path}/events", json={"role": "user", "content": content})
    assert response.status_code == 200
    (event,) = conversation.of_kind("MessageEvent")
    parts = event["llm_message"]["content"]
    assert [part["type"] for part in parts] == ["text", "image", "text"]
    assert parts[1]["image_urls"] == [PIXEL]


@pytest.mark.parametrize(
    "body",
    [
        [],
        "hello",
        {"role": "user", "content": "hello"},
        {"role": "nobody", "content": []},
        {"role": "user", "content": [{"type": "hologram"}]},
        {"role": "user", "content": [{"type": "text"}]},
        {"role": "user", "content": [{"type": "text", "text": 5}]},
        {"role": "user", "content": [], "run": "perhaps"},
    ],
    ids=lambda body: json.dumps(body)[:50],
)
def test_a_malformed_message_is_refused_and_not_recorded(talk, http, body):
    conversation = talk()
    has_detail(http.post(f"{conversation.path}/events", json=body), 422)
    assert conversation.of_kind("MessageEvent") == []


@pytest.mark.beyond  # the reference answers 500
@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_only_messages_of_the_user_are_accepted(talk, http, role):
    conversation = talk()
    body = {"role": role, "content": [{"type": "text", "text": "I am the agent"}]}
    has_detail(http.post(f"{conversation.path}/events", json=body), 422)
    assert conversation.of_kind("MessageEvent") == []


def test_messages_are_recorded_in_the_order_they_were_sent(talk):
    conversation = talk()
    texts = [f"message {n}" for n in range(10)]
    for text in texts:
        conversation.send(text, run=False)
    assert message_texts(conversation.events()) == texts


# What a run records


def test_every_event_has_an_id_of_its_own_a_kind_a_source_and_a_time(told):
    assert len(set(ids_of(told.recorded))) == len(told.recorded)
    for event in told.recorded:
        assert event["kind"] and event["source"] in ("agent", "user", "environment")
        datetime.datetime.fromisoformat(event["timestamp"])


def test_events_are_listed_in_the_order_of_their_times(told):
    stamps = [event["timestamp"] for event in told.recorded]
    assert stamps == sorted(stamps)


def test_an_action_is_followed_by_its_observation(told):
    actions = [event for event in told.recorded if event["kind"] == "ActionEvent"]
    assert [action["tool_name"] for action in actions] == ["terminal", "think"]
    for action, observation in zip(actions, observations(told.recorded), strict=True):
        assert observation["action_id"] == action["id"]
        assert observation["tool_call_id"] == action["tool_call_id"]
        assert observation["tool_name"] == action["tool_name"]
        assert (action["source"], observation["source"]) == ("agent", "environment")
        assert told.recorded.index(action) < told.recorded.index(observation)


def test_the_action_and_the_observation_of_a_command(talk, workspace):
    conversation = talk(shell("echo out; echo err >&2; false"), finish())
    events = conversation.wait_finished()
    action = next(event for event in events if event["kind"] == "ActionEvent")
    assert action["action"]["kind"] == "TerminalAction"
    assert action["action"]["command"] == "echo out; echo err >&2; false"
    assert json.loads(action["tool_call"]["arguments"]) == {"command": "echo out; echo err >&2; false"}
    observation = observations(events)[0]["observation"]
    assert observation["kind"] == "TerminalObservation"
    assert observation["exit_code"] == 1
    assert text_of(observation["content"]).split() == ["out", "err"]
    assert observation["metadata"]["working_dir"] == str(workspace)


def test_the_terminal_keeps_its_state_from_command_to_command(talk):
    conversation = talk(
        shell("mkdir deep; cd deep; export COLOUR=blue"), shell('echo "$COLOUR ${PWD##*/}"'), finish()
    )
    assert observation_text(observations(conversation.wait_finished())[1]).strip() == "blue deep"


def test_the_action_and_the_observation_of_a_file_edit(talk, workspace):
    conversation = talk(write(workspace / "a.txt", "hello\n"), finish())
    events = conversation.wait_finished()
    action = next(event for event in events if event["kind"] == "ActionEvent")
    assert action["action"]["kind"] == "FileEditorAction"
    assert action["action"]["path"] == str(workspace / "a.txt")
    observation = observations(events)[0]["observation"]
    assert observation["kind"] == "FileEditorObservation" and not observation["is_error"]
    assert (workspace / "a.txt").read_text() == "hello\n"


def test_a_failing_file_edit_is_an_observation_with_an_error(talk, workspace):
    step = {"tool": "file_editor", "args": {"command": "view", "path": f"{workspace}/missing"}}
    conversation = talk(step, finish())
    observation = observations(conversation.wait_finished())[0]["observation"]
    assert observation["is_error"] is True and "missing" in text_of(observation["content"])


def test_finish_and_think_are_actions_with_observations(talk):
    conversation = talk(think("hm"), finish("the end"))
    events = conversation.wait_finished()
    actions = [event["action"] for event in events if event["kind"] == "ActionEvent"]
    assert [action["kind"] for action in actions] == ["ThinkAction", "FinishAction"]
    assert actions[0]["thought"] == "hm" and actions[1]["message"] == "the end"
    assert len(observations(events)) == 2


def test_text_beside_a_tool_call_is_the_thought_of_the_action(talk):
    conversation = talk(think("hm", say="Let me think about it."), finish())
    action = next(event for event in conversation.wait_finished() if event["kind"] == "ActionEvent")
    assert text_of(action["thought"]) == "Let me think about it."


def test_the_answer_of_the_agent_is_a_message_event(told):
    answer = [event for event in told.recorded if event["kind"] == "MessageEvent"][-1]
    assert answer["source"] == "agent" and answer["llm_message"]["role"] == "assistant"
    assert text_of(answer["llm_message"]["content"]) == "Schöne Grüße: 100% of under_scores"


# Search and count


def test_search_without_parameters_gives_everything_oldest_first(told, search):
    page = search()
    assert page == {"items": told.recorded, "next_page_id": None}


@pytest.mark.parametrize(
    "kind, number",
    [
        ("SystemPromptEvent", 1),
        ("MessageEvent", 3),
        ("ActionEvent", 2),
        ("ObservationEvent", 2),
        ("PauseEvent", 0),
        ("NoSuchEvent", 0),
    ],
)
def test_search_and_count_filter_by_kind(search, count, kind, number):
    found = search(kind=kind)["items"]
    assert [event["kind"] for event in found] == [kind] * number
    assert count(kind=kind) == number


@pytest.mark.parametrize(
    "source, kinds",
    [
        ("user", {"MessageEvent"}),
        ("agent", {"SystemPromptEvent", "ActionEvent", "MessageEvent"}),
        ("environment", {"ObservationEvent", "ConversationStateUpdateEvent"}),
        ("nobody", set()),
    ],
)
def test_search_and_count_filter_by_source(told, search, count, source, kinds):
    found = search(source=source)["items"]
    assert found == [event for event in told.recorded if event["source"] == source]
    assert {event["kind"] for event in found} == kinds
    assert count(source=source) == len(found)


@pytest.mark.parametrize(
    "body, sources",
    [
        ("Grüße", ["user", "agent"]),
        ("schöne grü", ["user", "agent"]),
        ("SCHÖNE", ["user", "agent"]),
        ("vorab", ["user"]),
        ("PLAN", ["user"]),
        ("plan", ["user"]),
        ("UNDER_SCORES", ["user", "agent"]),
        ("echo hi", ["user"]),
        ("not said by anybody", []),
    ],
)
def test_search_and_count_look_for_text_in_messages_in_any_case(search, count, body, sources):
    found = search(body=body)["items"]
    assert [event["kind"] for event in found] == ["MessageEvent"] * len(sources)
    assert [event["source"] for event in found] == sources
    assert count(body=body) == len(sources)


def test_search_and_count_combine_their_filters(told, search, count):
    filters = {"kind": "MessageEvent", "source": "agent", "body": "grüße"}
    assert [event["source"] for event in search(**filters)["items"]] == ["agent"]
    assert count(**filters) == 1
    assert count(**filters | {"source": "environment"}) == 0


def test_search_and_count_take_a_half_open_span_of_time(told, search, count):
    """From ``timestamp__gte`` inclusive up to ``timestamp__lt`` exclusive."""
    stamps = [event["timestamp"] for event in told.recorded]
    first, last = stamps[2], stamps[5]
    for span, wanted in [
        ({"timestamp__gte": first}, [s for s in stamps if s >= first]),
        ({"timestamp__lt": last}, [s for s in stamps if s < last]),
        ({"timestamp__gte": first, "timestamp__lt": last}, [s for s in stamps if first <= s < last]),
        ({"timestamp__gte": last, "timestamp__lt": first}, []),
        ({"timestamp__gte": "2000-01-01T00:00:00"}, stamps),
        ({"timestamp__lt": "2000-01-01T00:00:00"}, []),
    ]:
        assert [event["timestamp"] for event in search(**span)["items"]] == wanted
        assert count(**span) == len(wanted)


def test_a_time_with_an_offset_is_converted(told, search, count):
    stamp = datetime.datetime.fromisoformat(told.recorded[3]["timestamp"])
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    elsewhere = stamp.astimezone(zone).isoformat()
    assert search(timestamp__gte=elsewhere)["items"] == told.recorded[3:]
    assert count(timestamp__lt=elsewhere) == 3


@pytest.mark.parametrize(
    "params",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": 101},
        {"limit": "ten"},
        {"sort_order": "KIND"},
        {"timestamp__gte": "yesterday"},
        {"timestamp__lt": ""},
    ],
    ids=str,
)
def test_search_refuses_bad_parameters(talk, http, params):
    has_detail(http.get(f"{talk().path}/events/search", params=params), 422)


@pytest.mark.parametrize("params", [{"timestamp__gte": "yesterday"}, {"timestamp__lt": "-"}], ids=str)
def test_count_refuses_bad_parameters(talk, http, params):
    has_detail(http.get(f"{talk().path}/events/count", params=params), 422)


def test_count_without_parameters_counts_everything(told, count):
    assert count() == len(told.recorded)


def test_a_conversation_nothing_was_said_in_has_no_messages(talk, http):
    conversation = talk()
    page = http.get(f"{conversation.path}/events/search", params={"kind": "MessageEvent"})
    assert page.status_code == 200 and page.json() == {"items": [], "next_page_id": None}


def test_search_lists_the_newest_event_first_when_asked(told, search):
    assert search(sort_order="TIMESTAMP_DESC")["items"] == told.recorded[::-1]
    assert search(sort_order="TIMESTAMP")["items"] == told.recorded


@pytest.mark.parametrize("order", ["TIMESTAMP", "TIMESTAMP_DESC"])
@pytest.mark.parametrize("filters", [{}, {"source": "environment"}, {"kind": "ActionEvent"}], ids=str)
def test_pages_follow_each_other_without_gap_or_overlap(told, search, order, filters):
    whole = search(sort_order=order, **filters)["items"]
    assert len(whole) >= 2
    found, page_id = [], None
    for _ in range(len(whole)):
        page = search(limit=2, sort_order=order, **filters, **({"page_id": page_id} if page_id else {}))
        assert 1 <= len(page["items"]) <= 2
        found += page["items"]
        page_id = page["next_page_id"]
        if not page_id:
            break
    assert found == whole


def test_next_page_id_is_the_id_of_the_next_event(told, search):
    assert search(limit=3)["next_page_id"] == told.recorded[3]["id"]
    assert search(limit=len(told.recorded))["next_page_id"] is None


@pytest.mark.parametrize("order", ["TIMESTAMP", "TIMESTAMP_DESC"])
def test_an_unknown_page_id_gives_the_first_page(search, order):
    first = search(limit=2, sort_order=order)
    assert search(limit=2, sort_order=order, page_id="no-such-event") == first


def test_pages_stay_valid_while_events_are_added(talk, http):
    """A page id is an event, not a number: what was read already does not come again."""
    conversation = talk()
    for number in range(4):
        conversation.send(f"message {number}", run=False)
    params = {"kind": "MessageEvent", "limit": 2}
    page = http.get(f"{conversation.path}/events/search", params=params).json()
    conversation.send("message 4", run=False)
    rest = http.get(
        f"{conversation.path}/events/search", params=params | {"limit": 10, "page_id": page["next_page_id"]}
    ).json()
    assert message_texts(page["items"] + rest["items"]) == [f"message {n}" for n in range(5)]


# One event, several events


def test_an_event_can_be_fetched_by_its_id(told, http):
    for event in told.recorded:
        response = http.get(f"{told.path}/events/{event['id']}")
        assert response.status_code == 200
        assert without_nulls(response.json()) == without_nulls(event)


@pytest.mark.parametrize("event_id", ["no-such-event", UNKNOWN])
def test_an_unknown_event_is_answered_with_404(told, http, event_id):
    has_detail(http.get(f"{told.path}/events/{event_id}"), 404)


def test_an_event_of_another_conversation_is_answered_with_404(told, talk, http):
    other = talk()
    has_detail(http.get(f"{other.path}/events/{told.recorded[0]['id']}"), 404)


def batch(http, conversation, ids):
    """The ids travel in the body of a GET request."""
    return http.request("GET", f"{conversation.path}/events", json=ids)


def test_batch_get_keeps_the_order_and_has_null_for_what_is_missing(told, http):
    one, two = told.recorded[1], told.recorded[4]
    answer = batch(http, told, [two["id"], "no-such-event", one["id"], two["id"]])
    assert answer.status_code == 200
    assert [without_nulls(event) if event else None for event in answer.json()] == [
        without_nulls(two),
        None,
        without_nulls(one),
        without_nulls(two),
    ]


def test_batch_get_of_no_ids_is_empty(told, http):
    answer = batch(http, told, [])
    assert answer.status_code == 200 and answer.json() == []


@pytest.mark.parametrize("body", [{"event_ids": []}, "id", [5], None], ids=str)
def test_batch_get_refuses_what_is_no_list_of_ids(talk, http, body):
    response = batch(http, talk(), body) if body is not None else http.get(f"{talk().path}/events")
    has_detail(response, 422)


def test_batch_get_of_an_unknown_conversation_is_answered_with_404(http):
    has_detail(http.request("GET", f"/api/conversations/{new_id()}/events", json=[]), 404)
