"""Conversations over REST: create, find, change, fork, delete; what they keep and never show."""

# ruff: noqa: F811  (fixtures are imported by name)

import concurrent.futures
import datetime
import json
import shutil
import time
import uuid
from pathlib import Path

import httpx
import pytest

from tests.contract.conftest import new_id, plan, user_message, wait_until
from tests.contract.dialogue import (  # noqa: F401  (talk and restart_server are fixtures)
    UNKNOWN,
    Dialogue,
    finish,
    message_texts,
    observation_text,
    observations,
    restart_server,
    say,
    shell,
    talk,
    think,
    thinking,
    unanswered,
    write,
)
from tests.contract.kit import has_detail, read_pids, unique, wait_gone

API = "/api/conversations"
SKILL = {"name": "greeting", "content": "Always greet the user in Esperanto.", "trigger": None}
SECRET = "s3cr3t-value-never-shown"


def walk(http, **params):
    """Every conversation of a search, following the pages."""
    items, page_id = [], None
    for _ in range(500):
        page = http.get(f"{API}/search", params=params | ({"page_id": page_id} if page_id else {}))
        assert page.status_code == 200, page.text
        items += page.json()["items"]
        page_id = page.json()["next_page_id"]
        if not page_id:
            return items
    raise AssertionError("the pages never end")


def ids_of(items):
    return [item["id"] for item in items]


@pytest.fixture
def body(agent_config, workspace):
    """Callable: the smallest body of a create request, with changes."""

    def _body(**changes):
        return {
            "agent": agent_config,
            "workspace": {"working_dir": str(workspace)},
            "autotitle": False,
        } | changes

    return _body


@pytest.fixture
def create(http, body):
    """Callable: POST a create request as it is; what it makes is deleted when the test ends."""
    made = []

    def _create(*, params=None, without=(), **changes):
        payload = {k: v for k, v in body(**changes).items() if k not in without}
        response = http.post(API, json=payload, params=params)
        if response.status_code in (200, 201):
            made.append(response.json()["id"])
        return response

    yield _create
    for conversation_id in made:
        http.delete(f"{API}/{conversation_id}")


@pytest.fixture(scope="module")
def open_dialogue(http, llm_url, agent_config, tmp_path_factory):
    """Callable: open a conversation that several tests use; deleted after the last of them."""
    opened = []

    def _open(*steps, **overrides):
        folder = tmp_path_factory.mktemp("workspace")
        opened.append(Dialogue.open(http, llm_url, agent_config, folder, *steps, **overrides))
        return opened[-1]

    yield _open
    for conversation in opened:
        conversation.delete()


# Create


def test_create_answers_201_with_an_idle_conversation(create, http, workspace):
    response = create(without=["autotitle"])
    assert response.status_code == 201
    info = response.json()
    assert str(uuid.UUID(info["id"])) == info["id"]
    assert info["execution_status"] == "idle"
    assert info["workspace"] == {"kind": "LocalWorkspace", "working_dir": str(workspace)}
    assert info["title"] is None and info["tags"] == {}
    assert info["stats"] == {"usage_to_metrics": {}}
    assert http.get(f"{API}/{info['id']}").json()["id"] == info["id"]


def test_the_info_has_the_fields_clients_read(create):
    assert set(create().json()) >= {
        "id",
        "workspace",
        "persistence_dir",
        "max_iterations",
        "stuck_detection",
        "execution_status",
        "confirmation_policy",
        "security_analyzer",
        "activated_knowledge_skills",
        "invoked_skills",
        "blocked_actions",
        "blocked_messages",
        "last_user_message_id",
        "stats",
        "secret_registry",
        "agent_state",
        "hook_config",
        "title",
        "metrics",
        "created_at",
        "updated_at",
        "tags",
        "agent",
    }


def test_the_defaults_of_a_conversation(create):
    info = create().json()
    assert info["max_iterations"] == 500
    assert info["stuck_detection"] is True
    assert info["confirmation_policy"] == {"kind": "NeverConfirm"}
    assert info["security_analyzer"] is None and info["hook_config"] is None


def test_the_times_of_a_conversation_are_utc(create):
    info = create().json()
    for name in ("created_at", "updated_at"):
        stamp = datetime.datetime.fromisoformat(info[name])
        assert stamp.utcoffset() == datetime.timedelta(0)
        assert abs(datetime.datetime.now(datetime.UTC) - stamp) < datetime.timedelta(minutes=1)


def test_the_agent_is_reported_as_it_was_given(create, agent_config):
    agent = create().json()["agent"]
    assert agent["kind"] == "Agent"
    assert [tool["name"] for tool in agent["tools"]] == ["terminal", "file_editor"]
    for name in ("model", "base_url", "usage_id", "num_retries"):
        assert agent["llm"][name] == agent_config["llm"][name]


def test_the_agent_kind_may_be_left_out(create, agent_config):
    agent = {name: value for name, value in agent_config.items() if name != "kind"}
    response = create(agent=agent)
    assert response.status_code == 201 and response.json()["agent"]["kind"] == "Agent"


def test_create_builds_the_agent_from_agent_settings(create, llm_config):
    response = create(without=["agent"], agent_settings={"llm": llm_config})
    assert response.status_code == 201, response.text
    agent = response.json()["agent"]
    assert agent["kind"] == "Agent" and agent["llm"]["model"] == llm_config["model"]


def test_a_conversation_made_from_agent_settings_works(create, http, llm_config):
    message = user_message(plan(say("made from settings")))
    made = create(without=["agent"], agent_settings={"llm": llm_config}, initial_message=message)
    path = f"{API}/{made.json()['id']}"
    wait_until(lambda: http.get(path).json()["execution_status"] == "finished", message="end")
    assert http.get(f"{path}/agent_final_response").json() == {"response": "made from settings"}


def test_agent_wins_over_agent_settings(create, llm_config):
    settings = {"llm": llm_config | {"model": "openai/from-settings"}}
    assert create(agent_settings=settings).json()["agent"]["llm"]["model"] == llm_config["model"]


def test_a_client_may_choose_the_id(create, http):
    chosen = new_id()
    response = create(conversation_id=chosen)
    assert response.status_code == 201 and response.json()["id"] == chosen
    assert http.get(f"{API}/{chosen}").status_code == 200


def test_creating_an_existing_id_answers_200_and_leaves_it_as_it_is(create, http):
    """A client that repeats a request whose answer it lost gets the conversation it made."""
    chosen = new_id()
    create(conversation_id=chosen, tags={"attempt": "1"})
    message = user_message(plan(say("must not run")))
    response = create(conversation_id=chosen, tags={"attempt": "2"}, initial_message=message)
    assert response.status_code == 200
    assert response.json()["id"] == chosen and response.json()["tags"] == {"attempt": "1"}
    time.sleep(0.3)
    assert http.get(f"{API}/{chosen}").json()["execution_status"] == "idle"
    assert http.get(f"{API}/{chosen}/events/count", params={"source": "user"}).json() == 0


@pytest.mark.parametrize("run", [{"run": True}, {}], ids=["run", "run left out"])
def test_an_initial_message_is_recorded_and_run(create, http, run):
    message = user_message(plan(say("hello"))) | run
    path = f"{API}/{create(initial_message=message).json()['id']}"
    wait_until(lambda: http.get(path).json()["execution_status"] == "finished", message="end")
    events = http.get(f"{path}/events/search").json()["items"]
    assert message_texts(events) == [plan(say("hello")), "hello"]


def test_tags_and_limits_given_at_creation_are_reported(create):
    info = create(tags={"team": "core", "n1": "x" * 256}, max_iterations=7).json()
    assert info["tags"] == {"team": "core", "n1": "x" * 256}
    assert info["max_iterations"] == 7


def test_a_missing_working_dir_is_created(create, tmp_path):
    wanted = tmp_path / "made" / "on demand"
    response = create(workspace={"working_dir": str(wanted)})
    assert response.status_code == 201 and wanted.is_dir()


def test_a_relative_working_dir_is_where_commands_run(talk):
    name = unique("relative")
    conversation = talk(shell("pwd -P"), finish(), working_dir=f"{name}/project")
    where = Path(observation_text(observations(conversation.wait_finished())[0]).strip())
    assert where.parts[-2:] == (name, "project")
    shutil.rmtree(where.parent)


REFUSED = {
    "no workspace": {"without": ["workspace"]},
    "no agent": {"without": ["agent"]},
    "no working_dir": {"workspace": "here"},
    "other workspace": {"workspace": {"kind": "RemoteWorkspace", "working_dir": "/", "host": "h"}},
    "max_iterations 0": {"max_iterations": 0},
    "max_iterations -1": {"max_iterations": -1},
    "max_iterations word": {"max_iterations": "many"},
    "id": {"conversation_id": "not-a-uuid"},
    "tag key": {"tags": {"Not-Allowed": "x"}},
    "tag value": {"tags": {"long": "x" * 257}},
    "settings": {"without": ["agent"], "agent_settings": {"llm": "a model"}},
    "message": {"initial_message": {"role": "user", "content": "a string"}},
    "message role": {"initial_message": {"role": "nobody", "content": []}},
    "policy": {"confirmation_policy": {"kind": "NoSuchPolicy"}},
    "analyzer": {"security_analyzer": {"kind": "NoSuchAnalyzer"}},
    "secrets": {"secrets": ["not", "a", "mapping"]},
    "agent kind": {"agent": {"kind": "NoSuchAgent"}},
    "include_skills": {"params": {"include_skills": "perhaps"}},
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_bad_create_request_is_refused_with_422(create, http, case):
    count = http.get(f"{API}/count").json()
    detail = has_detail(create(**case), 422)
    assert detail
    assert http.get(f"{API}/count").json() == count


@pytest.mark.parametrize("content", ["{oops", "[]", "null", '"text"', ""])
def test_a_create_request_that_is_no_json_object_is_refused_with_422(http, content):
    response = http.post(API, content=content, headers={"Content-Type": "application/json"})
    has_detail(response, 422)


CRASHING = {
    "tag number": {"tags": {"count": 1}},
    "empty workspace": {"workspace": {}},
    "assistant message": {"initial_message": {"role": "assistant", "content": []}},
    "system message": {"initial_message": {"role": "system", "content": []}},
}


@pytest.mark.beyond  # the reference answers 500 to these and drops the connection
@pytest.mark.parametrize("case", CRASHING.values(), ids=CRASHING)
def test_an_odd_create_request_is_refused_with_422_too(create, case):
    has_detail(create(**case), 422)


@pytest.mark.parametrize(
    "field",
    [
        "tags",
        "conversation_id",
        "initial_message",
        "security_analyzer",
        "hook_config",
        "plugins",
        "agent_settings",
    ],
)
def test_an_optional_field_may_be_null(create, field):
    response = create(**{field: None})
    assert response.status_code == 201, response.text
    assert response.json()["tags"] == {}


@pytest.mark.beyond  # the reference accepts it, and answers 500 to the first message
def test_an_agent_with_an_unknown_tool_is_refused(create, agent_config):
    has_detail(create(agent=agent_config | {"tools": [{"name": "no_such_tool"}]}), 422)


@pytest.mark.since_1_23
def test_a_tool_whose_module_cannot_be_imported_is_refused(create, agent_config):
    has_detail(
        create(
            agent=agent_config | {"tools": [{"name": "no_such_tool"}]},
            tool_module_qualnames={"no_such_tool": "no_such_module.definition"},
        ),
        422,
    )


# Errors common to all routes

ROUTES = [
    ("GET", "", None),
    ("PATCH", "", {"title": "new"}),
    ("DELETE", "", None),
    ("GET", "/agent_final_response", None),
    ("POST", "/run", None),
    ("POST", "/pause", None),
    ("POST", "/interrupt", None),
    ("POST", "/secrets", {"secrets": {}}),
    ("POST", "/confirmation_policy", {"policy": {"kind": "NeverConfirm"}}),
    ("POST", "/security_analyzer", {"security_analyzer": None}),
    ("POST", "/ask_agent", {"question": "Are you there?"}),
    ("POST", "/condense", None),
    ("POST", "/switch_llm", {"llm": {"model": "openai/fake-model"}}),
    ("POST", "/switch_profile", {"profile_name": "default"}),
    ("POST", "/fork", {}),
    ("GET", "/events/search", None),
    ("GET", "/events/count", None),
    ("GET", "/events/some-event", None),
    ("POST", "/events", {"role": "user", "content": []}),
    ("POST", "/events/respond_to_confirmation", {"accept": True}),
]


@pytest.mark.parametrize("method, suffix, payload", ROUTES, ids=lambda value: str(value))
def test_an_unknown_conversation_is_answered_with_404(http, method, suffix, payload):
    has_detail(http.request(method, f"{API}/{UNKNOWN}{suffix}", json=payload), 404)


@pytest.mark.parametrize("method, suffix, payload", ROUTES, ids=lambda value: str(value))
def test_an_id_that_is_no_uuid_is_answered_with_422(http, method, suffix, payload):
    has_detail(http.request(method, f"{API}/not-a-uuid{suffix}", json=payload), 422)


@pytest.mark.parametrize(
    "spelling", [str, lambda i: i.replace("-", ""), str.upper], ids=["dashes", "no dashes", "upper case"]
)
def test_an_id_may_be_written_in_any_form_of_a_uuid(create, http, spelling):
    made = create().json()["id"]
    assert http.get(f"{API}/{spelling(made)}").json()["id"] == made


# include_skills


@pytest.mark.parametrize("route", ["create", "get", "search", "batch", "fork"])
@pytest.mark.parametrize(
    "params, shown",
    [
        ({}, []),
        ({"include_skills": "false"}, []),
        ({"include_skills": "true"}, ["greeting"]),
    ],
    ids=["by default", "false", "true"],
)
def test_skills_are_left_out_unless_they_are_asked_for(create, http, agent_config, route, params, shown):
    agent = agent_config | {"agent_context": {"skills": [SKILL]}}
    made = create(agent=agent, params=params).json()
    path = f"{API}/{made['id']}"
    if route == "get":
        made = http.get(path, params=params).json()
    elif route == "search":
        page = http.get(f"{API}/search", params=params).json()["items"]
        made = next(item for item in page if item["id"] == made["id"])
    elif route == "batch":
        made = http.get(API, params=params | {"ids": made["id"]}).json()[0]
    elif route == "fork":
        made = http.post(f"{path}/fork", params=params, json={}).json()
        http.delete(f"{API}/{made['id']}")
    assert [skill["name"] for skill in made["agent"]["agent_context"]["skills"]] == shown


def test_trimmed_skills_still_reach_the_llm(talk, agent_config):
    agent = agent_config | {"agent_context": {"skills": [SKILL]}}
    conversation = talk(say("saluton"), agent=agent)
    conversation.wait_finished()
    assert SKILL["content"] in str(conversation.llm_calls()[0]["messages"])


# Search, count and batch


def test_search_lists_the_newest_conversation_first(create, http):
    made = [create().json()["id"] for _ in range(3)]
    page = http.get(f"{API}/search", params={"limit": 3}).json()
    assert ids_of(page["items"]) == made[::-1]


@pytest.mark.parametrize(
    "order, expected",
    [
        ("CREATED_AT", "abc"),
        ("CREATED_AT_DESC", "cba"),
        ("UPDATED_AT", "bca"),
        ("UPDATED_AT_DESC", "acb"),
    ],
)
def test_search_sorts_by_creation_or_by_change(create, http, order, expected):
    made = {name: create().json()["id"] for name in "abc"}
    http.patch(f"{API}/{made['a']}", json={"title": "changed last"})
    found = ids_of(walk(http, sort_order=order))
    names = sorted(made, key=lambda name: found.index(made[name]))
    assert "".join(names) == expected


def test_search_pages_cover_everything_once(create, http):
    made = {create().json()["id"] for _ in range(5)}
    found, page_id = [], None
    while len(found) < 5:
        params = {"limit": 2} | ({"page_id": page_id} if page_id else {})
        page = http.get(f"{API}/search", params=params).json()
        assert len(page["items"]) <= 2
        found += ids_of(page["items"])
        page_id = page["next_page_id"]
        if not page_id:
            break
    assert set(found[:5]) == made and len(set(found)) == len(found)


def test_the_last_page_has_no_successor_and_all_pages_make_the_whole(create, http):
    for _ in range(3):
        create()
    found = ids_of(walk(http, limit=100))
    assert len(found) == len(set(found)) == http.get(f"{API}/count").json()


@pytest.mark.parametrize(
    "params",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": 101},
        {"limit": "ten"},
        {"status": "sleeping"},
        {"sort_order": "TITLE"},
        {"include_skills": "perhaps"},
    ],
    ids=str,
)
def test_search_refuses_bad_parameters(http, params):
    has_detail(http.get(f"{API}/search", params=params), 422)


@pytest.mark.parametrize("limit", [1, 100])
def test_search_accepts_limits_from_1_to_100(create, http, limit):
    create()
    page = http.get(f"{API}/search", params={"limit": limit})
    assert page.status_code == 200 and 1 <= len(page.json()["items"]) <= limit


def test_an_unknown_page_id_gives_the_first_page(create, http):
    made = create().json()["id"]
    page = http.get(f"{API}/search", params={"limit": 1, "page_id": "nonsense"})
    assert page.status_code == 200 and ids_of(page.json()["items"]) == [made]


def test_search_and_count_filter_by_status(talk, http):
    before = http.get(f"{API}/count", params={"status": "finished"}).json()
    done, idle = talk(finish()), talk()
    done.wait_finished()
    found = walk(http, status="finished")
    assert {item["execution_status"] for item in found} == {"finished"}
    assert done.id in ids_of(found) and idle.id not in ids_of(found)
    assert idle.id in ids_of(walk(http, status="idle"))
    assert http.get(f"{API}/count", params={"status": "finished"}).json() == before + 1


def test_a_running_conversation_is_found_by_its_status(talk, http):
    conversation = talk(say("slow", delay=20))
    conversation.wait_llm_call()
    assert conversation.id in ids_of(walk(http, status="running"))
    assert http.get(f"{API}/count", params={"status": "running"}).json() >= 1
    conversation.ok("interrupt")
    assert conversation.id in ids_of(walk(http, status="paused"))


def test_a_search_without_hits_is_an_empty_page(http):
    page = http.get(f"{API}/search", params={"status": "deleting"})
    assert page.status_code == 200 and page.json() == {"items": [], "next_page_id": None}
    assert http.get(f"{API}/count", params={"status": "deleting"}).json() == 0


def test_count_follows_creation_and_deletion(create, http):
    before = http.get(f"{API}/count").json()
    made = create().json()["id"]
    assert http.get(f"{API}/count").json() == before + 1
    http.delete(f"{API}/{made}")
    assert http.get(f"{API}/count").json() == before


def test_count_refuses_an_unknown_status(http):
    has_detail(http.get(f"{API}/count", params={"status": "sleeping"}), 422)


def test_batch_get_keeps_the_order_and_has_null_for_what_is_missing(create, http):
    one, two = (create().json()["id"] for _ in range(2))
    answer = http.get(API, params={"ids": [two, UNKNOWN, one, two]})
    assert answer.status_code == 200
    assert [item and item["id"] for item in answer.json()] == [two, None, one, two]


def test_batch_get_takes_up_to_99_ids(http):
    answer = http.get(API, params={"ids": [new_id() for _ in range(99)]})
    assert answer.status_code == 200 and answer.json() == [None] * 99


@pytest.mark.parametrize("ids", [[], ["not-a-uuid"], [UNKNOWN] * 100], ids=["none", "no uuid", "100"])
def test_batch_get_refuses_bad_ids(http, ids):
    has_detail(http.get(API, params={"ids": ids}), 422)


# Change


@pytest.mark.parametrize(
    "title, kept",
    [
        ("A title", "A title"),
        ("  padded  ", "padded"),
        ("Ĝis revido 🎉", "Ĝis revido 🎉"),
        ("x" * 200, "x" * 200),
    ],
)
def test_the_title_can_be_changed(talk, http, title, kept):
    conversation = talk()
    response = http.patch(conversation.path, json={"title": title})
    assert response.status_code == 200 and response.json() == {"success": True}
    assert conversation.get()["title"] == kept
    assert kept in [item["title"] for item in walk(http)]


@pytest.mark.parametrize(
    "change",
    [
        {"title": ""},
        {"title": "   "},
        {"title": "x" * 201},
        {"title": 5},
        {"title": ["a"]},
        {"tags": {"Not-Allowed": "x"}},
        {"tags": {"long": "x" * 257}},
    ],
    ids=lambda change: str(change)[:30],
)
def test_a_bad_change_is_refused_and_changes_nothing(talk, http, change):
    conversation = talk(tags={"team": "core"})
    http.patch(conversation.path, json={"title": "before"})
    has_detail(http.patch(conversation.path, json=change), 422)
    info = conversation.get()
    assert info["title"] == "before" and info["tags"] == {"team": "core"}


@pytest.mark.beyond  # the reference answers 500
@pytest.mark.parametrize("tags", [{"count": 1}, {"flag": True}, ["team"], "team"], ids=str)
def test_tags_that_are_no_strings_are_refused(talk, http, tags):
    has_detail(http.patch(talk().path, json={"tags": tags}), 422)


def test_new_tags_replace_all_the_old_ones(talk, http):
    conversation = talk(tags={"a": "1", "b": "2"})
    for tags in ({"c": "3"}, {}):
        assert http.patch(conversation.path, json={"tags": tags}).status_code == 200
        assert conversation.get()["tags"] == tags


@pytest.mark.parametrize("change", [{}, {"title": None}, {"tags": None}], ids=str)
def test_what_a_change_does_not_name_stays_as_it_is(talk, http, change):
    conversation = talk(tags={"team": "core"})
    http.patch(conversation.path, json={"title": "kept"})
    if change != {"tags": None}:
        assert http.patch(conversation.path, json=change).status_code == 200
    http.patch(conversation.path, json={"tags": {"team": "other"}})
    assert conversation.get()["title"] == "kept"
    http.patch(conversation.path, json={"title": "new"})
    assert conversation.get()["tags"] == {"team": "other"}


def test_a_change_moves_updated_at_and_not_created_at(talk, http):
    conversation = talk()
    before = conversation.get()
    http.patch(conversation.path, json={"title": "moved"})
    after = conversation.get()
    assert after["updated_at"] > before["updated_at"]
    assert after["created_at"] == before["created_at"]


def test_a_run_moves_updated_at(talk):
    conversation = talk(finish(), run=False)
    before = conversation.get()["updated_at"]
    conversation.ok("run")
    conversation.wait_finished()
    wait_until(lambda: conversation.get()["updated_at"] > before, message="updated_at")


def test_the_title_can_be_changed_while_the_llm_is_being_asked(talk, http):
    conversation = talk(say("slow", delay=20))
    conversation.wait_llm_call()
    begin = time.monotonic()
    assert http.patch(conversation.path, json={"title": "meanwhile"}).status_code == 200
    assert time.monotonic() - begin < 5
    assert conversation.get()["title"] == "meanwhile"


@pytest.mark.beyond  # the reference holds the answer back until the command has ended
def test_the_title_can_be_changed_at_once_while_a_command_is_running(talk, http, workspace):
    conversation = talk(shell(f"touch {workspace}/begun; sleep 4"))
    wait_until((workspace / "begun").exists, message="start of the command")
    begin = time.monotonic()
    assert http.patch(conversation.path, json={"title": "meanwhile"}).status_code == 200
    assert time.monotonic() - begin < 2


# Automatic titles


def test_a_title_is_made_by_the_llm_from_the_first_message(start):
    conversation = start(plan(say("A Fine Title")))
    wait_until(lambda: conversation.get()["title"] == "A Fine Title", message="title")


def test_the_llm_is_asked_for_a_title_in_the_words_of_the_request(start, llm_url):
    marker = unique("entitle")
    conversation = start(plan(say("A Fine Title")), prompt=marker + " {max_length}: {conversation_content}")
    wait_until(lambda: conversation.get()["title"] == "A Fine Title", message="title")
    (asked,) = httpx.get(f"{llm_url}/requests", params={"contains": marker}).json()
    assert f"{marker} 50: PLAN" in json.dumps(asked)


def test_the_title_is_the_beginning_of_the_message_when_the_llm_fails(start):
    conversation = start(plan({"status": 500}))
    title = wait_until(lambda: conversation.get()["title"], message="title")
    assert title.startswith('PLAN {"steps"') and len(title) <= 50


def test_no_title_is_made_when_autotitle_is_off(talk):
    conversation = talk(say("A Fine Title"))
    conversation.wait_finished()
    time.sleep(0.3)
    assert conversation.get()["title"] is None
    assert len(conversation.llm_calls()) == 1


def test_an_automatic_title_does_not_replace_the_title_a_user_has_set(start, http, llm_stats):
    conversation = start()
    http.patch(conversation.path, json={"title": "Mine"})
    conversation.send(plan(say("A Fine Title")))
    conversation.wait_status("finished")
    wait_until(lambda: llm_stats()["in_flight"] == 0, message="end of the LLM calls")
    time.sleep(0.3)
    assert conversation.get()["title"] == "Mine"


# Delete


def test_a_deleted_conversation_is_gone(talk, http):
    conversation = talk()
    response = conversation.delete()
    assert response.status_code == 200 and response.json() == {"success": True}
    for suffix in ("", "/events/search", "/events/count", "/agent_final_response"):
        has_detail(http.get(conversation.path + suffix), 404)
    has_detail(conversation.delete(), 404)
    has_detail(conversation.post("run"), 404)
    assert conversation.id not in ids_of(walk(http))
    assert http.get(API, params={"ids": conversation.id}).json() == [None]


def test_deleting_a_conversation_keeps_the_files_it_worked_on(talk, workspace):
    conversation = talk(write(workspace / "kept.txt", "kept"), finish())
    conversation.wait_finished()
    assert conversation.delete().status_code == 200
    assert (workspace / "kept.txt").read_text() == "kept"


def test_the_id_of_a_deleted_conversation_can_be_used_again(talk, http):
    first = talk(say("first life"), conversation_id=new_id())
    first.wait_finished()
    first.delete()
    second = talk(conversation_id=first.id)
    assert second.status == "idle"
    assert message_texts(second.events()) == []


def test_deleting_a_conversation_cancels_its_llm_call(talk):
    conversation = talk(say("never said", delay=30))
    conversation.wait_llm_call()
    begin = time.monotonic()
    assert conversation.delete().status_code == 200
    assert time.monotonic() - begin < 8
    wait_until(lambda: conversation.llm_calls("cancelled"), 5, message="cancelled LLM call")


@pytest.mark.beyond  # the reference waits for the command, half a minute for a silent one
def test_deleting_a_conversation_stops_its_command_at_once(talk, workspace):
    pid_file = workspace / "pid"
    conversation = talk(shell(f"sh -c 'echo $$ > {pid_file}; exec sleep 60'"))
    pid = read_pids(pid_file)[0]
    begin = time.monotonic()
    assert conversation.delete().status_code == 200
    assert time.monotonic() - begin < 8
    wait_gone(pid)


# Fork


@pytest.fixture(scope="module")
def original(open_dialogue, http):
    """A finished conversation to fork; what changes a conversation is done to a fork of it."""
    conversation = open_dialogue(*thinking(2), finish("the end"), tags={"team": "core"}, max_iterations=9)
    conversation.wait_finished()
    time.sleep(0.5)  # the last state updates
    http.patch(conversation.path, json={"title": "Original"})
    return conversation


@pytest.fixture
def fork_of():
    """Callable: fork a conversation; the fork is deleted when the test ends."""
    made = []

    def _fork_of(conversation, **body):
        made.append(conversation.fork(**body))
        return made[-1]

    yield _fork_of
    for conversation in made:
        conversation.delete()


def test_a_fork_is_a_new_idle_conversation_with_the_same_history(original, http, fork_of):
    fork = fork_of(original)
    assert fork.id != original.id
    assert fork.info["execution_status"] == fork.status == "idle"
    assert fork.info["title"] is None
    assert fork.info["workspace"] == original.info["workspace"]
    assert fork.info["agent"]["tools"] == original.info["agent"]["tools"]
    assert fork.events()[: len(original.events())] == original.events()
    assert fork.final_response == "the end"
    assert fork.id in ids_of(walk(http))


@pytest.mark.since_1_23
def test_a_fork_names_its_origin_and_keeps_the_limits(original, fork_of):
    fork = fork_of(original)
    assert fork.info["forked_from_conversation_id"] == original.id
    assert fork.info["forked_from_event_id"] is None
    assert fork.info["max_iterations"] == 9


def test_fork_and_original_go_separate_ways(original, http, fork_of):
    parent = fork_of(original)
    fork = fork_of(parent)
    fork.send("said to the fork", run=False)
    parent.send("said to the parent", run=False)
    http.patch(fork.path, json={"title": "Fork", "tags": {"copy": "1"}})
    assert message_texts(fork.events())[1:] == ["said to the fork"]
    assert message_texts(parent.events())[1:] == ["said to the parent"]
    assert parent.get()["title"] is None and parent.get()["tags"] == {}


def test_a_fork_outlives_its_original(original, fork_of):
    parent = fork_of(original)
    fork = fork_of(parent)
    events = fork.events()
    assert parent.delete().status_code == 200
    assert fork.events() == events
    fork.send("still here", run=False)
    assert message_texts(fork.events())[-1] == "still here"


def test_the_body_of_a_fork_request_may_be_left_out(original, http):
    response = http.post(f"{original.path}/fork")
    assert response.status_code == 201
    http.delete(f"{API}/{response.json()['id']}")


def test_a_fork_takes_the_id_and_the_tags_it_is_given(original, fork_of):
    chosen = new_id()
    fork = fork_of(original, id=chosen, tags={"copy": "1"})
    assert fork.id == chosen and fork.get()["tags"] == {"copy": "1"}
    assert original.get()["tags"] == {"team": "core"}


@pytest.mark.since_1_23
def test_a_fork_takes_the_title_it_is_given(original, fork_of):
    assert fork_of(original, title="Branch").get()["title"] == "Branch"


@pytest.mark.parametrize("reset, tokens", [(True, 0), (False, 300), (None, 0)])
def test_a_fork_starts_with_fresh_metrics_unless_told_otherwise(original, reset, tokens, fork_of):
    fork = fork_of(original, **({} if reset is None else {"reset_metrics": reset}))
    metrics = fork.info["stats"]["usage_to_metrics"].get("conformance", {})
    assert metrics.get("accumulated_token_usage", {}).get("prompt_tokens", 0) == tokens


def test_a_fork_may_not_take_an_id_in_use(original, http, fork_of):
    for taken in (original.id, fork_of(original).id):
        has_detail(original.post("fork", {"id": taken}), 409)
    assert original.final_response == "the end"


@pytest.mark.parametrize(
    "body",
    [
        {"id": "not-a-uuid"},
        {"title": "x" * 201},
        {"tags": {"Not-Allowed": "x"}},
        {"reset_metrics": "perhaps"},
    ],
    ids=str,
)
def test_a_bad_fork_request_is_refused(original, http, body):
    count = http.get(f"{API}/count").json()
    has_detail(original.post("fork", body), 422)
    assert http.get(f"{API}/count").json() == count


@pytest.mark.since_1_23
def test_a_fork_from_an_event_has_the_history_up_to_that_event(original, fork_of):
    branch = observations(original.events())[0]
    fork = fork_of(original, from_event_id=branch["id"])
    assert fork.info["forked_from_event_id"] == branch["id"]
    history = [e for e in fork.events() if e["kind"] != "ConversationStateUpdateEvent"]
    assert [event["kind"] for event in history] == [
        "SystemPromptEvent",
        "MessageEvent",
        "ActionEvent",
        "ObservationEvent",
    ]
    assert history[-1] == branch


@pytest.mark.since_1_23
def test_a_fork_from_an_unknown_event_is_answered_with_404(original, http):
    count = http.get(f"{API}/count").json()
    has_detail(original.post("fork", {"from_event_id": "no-such-event"}), 404)
    assert http.get(f"{API}/count").json() == count


def test_a_running_conversation_can_be_forked(talk, fork_of):
    conversation = talk(*thinking(1), say("late", delay=3))
    conversation.wait_for("ObservationEvent")
    conversation.wait_llm_call()
    fork = fork_of(conversation)
    assert fork.status == "idle"
    assert message_texts(conversation.wait_finished(), "agent") == ["late"]
    assert fork.status == "idle" and message_texts(fork.events(), "agent") == []


@pytest.mark.beyond  # version 1.58.2 loses the API key on the way (1.23.1 did not)
def test_a_fork_can_run_with_the_llm_of_its_original(original, fork_of):
    fork = fork_of(original)
    fork.tell(say("from the fork"))
    events = fork.wait_finished()
    assert message_texts(events, "agent") == ["from the fork"] and unanswered(events) == []
    roles = [message["role"] for message in fork.llm_calls()[-1]["messages"]]
    assert roles.count("tool") == 3  # it remembers what the original did


# Secrets


def test_keys_and_secrets_are_never_shown(create, http, agent_config):
    key = agent_config["llm"]["api_key"]
    secrets = {"TOKEN": {"kind": "StaticSecret", "value": SECRET}}
    message = user_message(plan(say("hello")))
    made = create(secrets=secrets, initial_message=message, params={"include_skills": "true"})
    path = f"{API}/{made.json()['id']}"
    wait_until(lambda: http.get(path).json()["execution_status"] == "finished", message="end")
    fork = http.post(f"{path}/fork", json={})
    http.delete(f"{API}/{fork.json()['id']}")
    answers = [
        made,
        fork,
        http.get(path),
        http.get(path, params={"include_skills": "true"}),
        http.get(f"{API}/search"),
        http.get(API, params={"ids": made.json()["id"]}),
        http.get(f"{path}/events/search"),
    ]
    for answer in answers:
        assert answer.status_code in (200, 201)
        assert SECRET not in answer.text and key not in answer.text


def test_a_refused_request_does_not_echo_the_api_key(create, agent_config):
    response = create(without=["workspace"])
    assert agent_config["llm"]["api_key"] not in response.text
    has_detail(response, 422)


@pytest.mark.beyond  # the reference repeats the value of a secret it could not read
def test_a_refused_request_does_not_echo_a_secret(create):
    response = create(secrets={"TOKEN": SECRET}, max_iterations=0)
    assert SECRET not in response.text
    has_detail(response, 422)


@pytest.mark.parametrize(
    "given",
    [SECRET, {"value": SECRET}, {"kind": "StaticSecret", "value": SECRET}],
    ids=["text", "value", "static secret"],
)
def test_a_secret_reaches_commands_and_is_hidden_in_their_output(talk, workspace, given):
    conversation = talk()
    conversation.ok("secrets", {"secrets": {"TOKEN": given}})
    conversation.tell(shell('echo "token: $TOKEN"; printf %s "$TOKEN" > used'), finish())
    events = conversation.wait_finished()
    assert (workspace / "used").read_text() == SECRET
    assert observation_text(observations(events)[0]).strip() == "token: <secret-hidden>"
    assert SECRET not in str(events) and SECRET not in str(conversation.get())
    assert SECRET not in str(conversation.llm_calls())


def test_a_secret_given_at_creation_reaches_commands(talk, workspace):
    conversation = talk(
        shell('printf %s "$TOKEN" > used; cat used'),
        finish(),
        secrets={"TOKEN": {"kind": "StaticSecret", "value": SECRET}},
    )
    events = conversation.wait_finished()
    assert (workspace / "used").read_text() == SECRET
    assert SECRET not in str(events)


def test_a_secret_can_be_replaced(talk, workspace):
    conversation = talk()
    for value in ("first-secret-value", "second-secret-value"):
        conversation.ok("secrets", {"secrets": {"TOKEN": value}})
        conversation.tell(shell(f'printf %s "$TOKEN" > {value}'), finish(value))
        wait_until(
            lambda: conversation.status == "finished" and (workspace / value).exists(),
            message="use of the secret",
        )
        assert (workspace / value).read_text() == value


@pytest.mark.parametrize(
    "body",
    [{}, {"secrets": []}, {"secrets": {"TOKEN": 5}}, {"secrets": {"TOKEN": {"kind": "NoSuchSecret"}}}],
    ids=str,
)
def test_bad_secrets_are_refused(talk, body):
    has_detail(talk().post("secrets", body), 422)


# The LLM of a conversation


def test_switch_llm_changes_the_model_and_the_key_of_the_next_call(talk, llm_config):
    conversation = talk(say("one"))
    conversation.wait_finished()
    other = llm_config | {"model": "openai/other-model", "usage_id": "other", "api_key": "sk-other"}
    conversation.ok("switch_llm", {"llm": other})
    info = conversation.get()
    assert info["agent"]["llm"]["model"] == "openai/other-model"
    assert "sk-other" not in str(info)
    conversation.tell(finish("two"))
    wait_until(lambda: conversation.final_response == "two", message="second answer")
    first, second = conversation.llm_calls()
    assert (first["model"], first["authorization"]) == ("fake-model", f"Bearer {llm_config['api_key']}")
    assert (second["model"], second["authorization"]) == ("other-model", "Bearer sk-other")
    wait_until(
        lambda: {"conformance", "other"} <= set(conversation.get()["stats"]["usage_to_metrics"]),
        message="both in the statistics",
    )


@pytest.mark.parametrize("body", [{}, {"llm": "gpt"}, {"llm": None}, {"llm": {"model": None}}], ids=str)
def test_switch_llm_refuses_a_bad_body(talk, body):
    has_detail(talk().post("switch_llm", body), 422)


@pytest.mark.beyond  # the reference answers 500
def test_switch_llm_refuses_a_model_that_is_no_name(talk):
    has_detail(talk().post("switch_llm", {"llm": {"model": 5}}), 422)


def test_switch_profile_to_an_unknown_profile_is_answered_with_404(talk):
    has_detail(talk().post("switch_profile", {"profile_name": unique("profile")}), 404)


def test_ask_agent_answers_without_leaving_a_trace(talk):
    conversation = talk(say("hello"))
    conversation.wait_finished()
    messages = message_texts(conversation.events())
    response = conversation.post("ask_agent", {"question": plan(say("forty-two"))})
    assert response.status_code == 200 and response.json() == {"response": "forty-two"}
    assert conversation.status == "finished"
    assert message_texts(conversation.events()) == messages
    assert conversation.final_response == "hello"


def test_ask_agent_knows_the_conversation(talk):
    conversation = talk(say("the code word is kumquat"))
    conversation.wait_finished()
    conversation.post("ask_agent", {"question": plan(say("kumquat"), marker=conversation.marker)})
    assert "the code word is kumquat" in str(conversation.llm_calls()[-1]["messages"])


@pytest.mark.parametrize("body", [{}, {"question": None}, {"question": ["?"]}], ids=str)
def test_ask_agent_refuses_a_bad_question(talk, body):
    has_detail(talk().post("ask_agent", body), 422)


@pytest.mark.beyond  # the reference answers 500 and drops the connection, after up to a minute
def test_ask_agent_reports_a_failing_llm_and_leaves_the_conversation_alone(talk):
    conversation = talk(say("hello"))
    conversation.wait_finished()
    begin = time.monotonic()
    response = conversation.post("ask_agent", {"question": plan({"status": 500})})
    assert 500 <= response.status_code < 600 and "detail" in response.json()
    assert time.monotonic() - begin < 10
    assert conversation.status == "finished"
    assert "ConversationErrorEvent" not in conversation.kinds()


@pytest.fixture
def condensing(agent_config):
    condenser = {
        "kind": "LLMSummarizingCondenser",
        "max_size": 80,
        "keep_first": 2,
        "llm": agent_config["llm"] | {"usage_id": "condenser"},
    }
    return agent_config | {"condenser": condenser}


def test_condense_shortens_what_the_llm_is_told(talk, condensing):
    conversation = talk(*thinking(4), say("a long story"), agent=condensing)
    conversation.wait_finished()
    conversation.ok("condense")
    (condensation,) = conversation.wait_for("Condensation")
    assert conversation.kinds().count("CondensationRequest") == 1
    assert condensation["forgotten_event_ids"] and condensation["summary"]
    conversation.tell(say("and then"))
    events = conversation.wait_finished()
    assert message_texts(events, "agent")[-1] == "and then"
    assert len(observations(events)) == 4
    told = conversation.llm_calls()[-1]["messages"]
    assert [message["role"] for message in told].count("tool") < 4
    assert condensation["summary"] in str(told)


@pytest.mark.beyond  # the SDK alone fails there
def test_condense_with_nothing_to_shorten_is_refused_with_409(talk, condensing):
    has_detail(talk(agent=condensing).post("condense"), 409)


@pytest.mark.since_1_23
def test_condense_without_a_condenser_is_refused_with_409(talk):
    has_detail(talk().post("condense"), 409)


# Statistics


def test_the_statistics_add_up_tokens_and_cost(talk, agent_config):
    prices = {"input_cost_per_token": 0.001, "output_cost_per_token": 0.01}
    agent = agent_config | {"llm": agent_config["llm"] | prices}
    conversation = talk(*thinking(2), finish(), agent=agent)
    conversation.wait_finished()

    def metrics():
        return conversation.get()["stats"]["usage_to_metrics"].get("conformance", {})

    wait_until(
        lambda: metrics().get("accumulated_token_usage", {}).get("prompt_tokens") == 300,
        message="tokens of three calls",
    )
    assert metrics()["accumulated_token_usage"]["completion_tokens"] == 30
    assert metrics()["accumulated_cost"] == pytest.approx(3 * (100 * 0.001 + 10 * 0.01))
    assert metrics()["model_name"] == agent_config["llm"]["model"]


def test_the_statistics_grow_while_the_run_goes_on(talk):
    conversation = talk(*thinking(1), say("slow", delay=20))
    conversation.wait_for("ObservationEvent")
    usage = wait_until(
        lambda: conversation.get()["stats"]["usage_to_metrics"].get("conformance"), message="statistics"
    )
    assert usage["accumulated_token_usage"]["prompt_tokens"] == 100
    assert conversation.status == "running"


# Newer than version 1.23.1: branches of one conversation, parents and children


@pytest.mark.since_1_23
def test_navigate_moves_the_head_and_the_next_run_goes_on_from_there(talk):
    conversation = talk(think("first way"), finish("first answer"))
    conversation.wait_finished()
    time.sleep(0.5)
    events = conversation.events()
    message = next(event for event in events if event["kind"] == "MessageEvent")
    response = conversation.post("navigate", {"event_id": message["id"]})
    assert response.status_code == 200 and response.json()["leaf_event_id"] == message["id"]
    assert conversation.events() == events and conversation.final_response == ""
    conversation.tell(finish("second answer"))
    wait_until(lambda: conversation.final_response == "second answer", message="second answer")
    assert "first way" in str(conversation.of_kind("ActionEvent"))
    told = conversation.llm_calls()[-1]["messages"]
    assert [message["role"] for message in told] == ["system", "user"]


@pytest.mark.since_1_23
@pytest.mark.parametrize(
    "body, status", [({"event_id": "no-such-event"}, 404), ({"event_id": 5}, 422)], ids=str
)
def test_navigate_refuses_an_event_it_does_not_know(talk, body, status):
    has_detail(talk().post("navigate", body), status)


@pytest.mark.since_1_23
def test_a_child_conversation_works_on_its_task_and_names_its_parent(talk, http):
    parent = talk()
    response = parent.post(
        "children", {"task": plan(finish("task done")), "title": "Helper", "isolation": "shared"}
    )
    assert response.status_code == 201
    answer = response.json()
    assert answer["parent_conversation_id"] == parent.id and answer["isolation"] == "shared"
    child = Dialogue(http, {"id": answer["conversation_id"]}, parent.llm_url)
    child.wait_finished()
    info = child.get()
    assert child.final_response == "task done" and info["title"] == "Helper"
    assert info["parent_conversation_id"] == parent.id
    assert info["workspace"] == parent.info["workspace"]
    assert parent.get()["sub_conversation_ids"] == [child.id]
    parent.delete()
    assert child.status == "finished"
    child.delete()


@pytest.mark.since_1_23
@pytest.mark.parametrize("body", [{}, {"task": ""}, {"task": "x", "isolation": "island"}], ids=str)
def test_a_bad_task_for_a_child_is_refused(talk, body):
    has_detail(talk().post("children", body), 422)


@pytest.mark.since_1_23
@pytest.mark.beyond  # the reference answers 500 when the repository has no commit
def test_a_child_in_a_repository_without_commits_shares_the_workspace(talk, http):
    response = talk().post("children", {"task": plan(finish())})
    assert response.status_code == 201
    http.delete(f"{API}/{response.json()['conversation_id']}")


@pytest.mark.since_1_23
def test_a_parent_must_exist_and_work_in_the_same_place(create, tmp_path):
    parent = create().json()["id"]
    assert create(parent_conversation_id=parent).json()["parent_conversation_id"] == parent
    has_detail(create(parent_conversation_id=UNKNOWN), 422)
    has_detail(
        create(parent_conversation_id=parent, workspace={"working_dir": str(tmp_path / "elsewhere")}), 422
    )


@pytest.mark.since_1_23
def test_the_runtime_of_a_local_conversation_is_available(talk, http):
    answer = http.get(f"{talk().path}/runtime").json()
    assert (answer["runtime_status"], answer["can_resume"]) == ("available", True)
    has_detail(http.get(f"{API}/{UNKNOWN}/runtime"), 404)


# Many at once


def test_twenty_conversations_run_side_by_side(http, llm_url, agent_config, tmp_path):
    """Each does its own work in its own directory.  A server that is at the limit of its
    concurrent runs may answer 429; asked again later, it takes the conversation."""

    def work(number):
        folder = tmp_path / f"workspace {number}"
        folder.mkdir()
        steps = [write(folder / "number.txt", str(number), delay=0.5), finish(f"number {number}")]
        opening = {
            "agent": agent_config,
            "autotitle": False,
            "conversation_id": new_id(),
            "workspace": {"working_dir": str(folder)},
            "initial_message": user_message(plan(*steps, strict=True)),
        }

        def accepted():
            response = http.post(API, json=opening)
            assert response.status_code in (200, 201, 429), response.text
            return response if response.status_code == 201 else None

        response = wait_until(accepted, 60, 0.2, "a free place")
        conversation = Dialogue(http, response.json(), llm_url)
        events = conversation.wait_finished(timeout=60)
        assert unanswered(events) == []
        answer = conversation.final_response
        conversation.delete()
        return answer, (folder / "number.txt").read_text()

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        results = list(pool.map(work, range(20)))
    assert results == [(f"number {n}", str(n)) for n in range(20)]


# Persistence: what a restart of the server leaves


@pytest.fixture(scope="module")
def restarted(open_dialogue, restart_server, http):
    """Conversations at rest, the server stopped in good order and started again."""
    kept = {
        "done": open_dialogue(
            *thinking(1),
            finish("the end"),
            tags={"team": "core"},
            secrets={"TOKEN": {"kind": "StaticSecret", "value": SECRET}},
        ),
        "idle": open_dialogue(),
        "paused": open_dialogue(say("never said", delay=30)),
    }
    kept["done"].wait_finished()
    kept["done"].ok("secrets", {"secrets": {"LATER": SECRET + "-2"}})
    http.patch(kept["done"].path, json={"title": "Kept"})
    kept["paused"].wait_llm_call()
    kept["paused"].ok("interrupt")
    time.sleep(0.5)
    for conversation in kept.values():
        conversation.before = conversation.get(), conversation.events()
    restart_server("TERM")
    return kept


@pytest.mark.slow
@pytest.mark.parametrize("name", ["done", "idle", "paused"])
def test_a_restart_keeps_the_conversation_and_its_events(restarted, http, name):
    info, events = restarted[name].before
    after = restarted[name].get()
    for field in ("title", "tags", "created_at", "execution_status", "workspace", "stats", "max_iterations"):
        assert after[field] == info[field], field
    assert restarted[name].events()[: len(events)] == events
    assert restarted[name].id in ids_of(walk(http))


@pytest.mark.slow
def test_a_conversation_goes_on_after_a_restart(restarted):
    conversation = restarted["done"]
    assert conversation.final_response == "the end"
    conversation.tell(finish("after the restart"))
    wait_until(lambda: conversation.final_response == "after the restart", message="answer")
    roles = [message["role"] for message in conversation.llm_calls()[-1]["messages"]]
    assert roles.count("tool") == 2  # it remembers the time before


@pytest.mark.slow
def test_a_paused_conversation_can_be_resumed_after_a_restart(restarted):
    conversation = restarted["paused"]
    assert conversation.status == "paused"
    conversation.tell(finish("resumed"))
    conversation.wait_finished()
    assert conversation.final_response == "resumed"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["TOKEN", pytest.param("LATER", marks=pytest.mark.beyond)]
)  # the reference forgets this one
def test_secrets_survive_a_restart(restarted, name):
    conversation = restarted["done"]
    used = Path(conversation.working_dir) / f"used {name}"
    conversation.tell(shell(f'printf %s "${name}" > "{used}"'), finish())
    wait_until(used.exists, message="command")
    wait_until(lambda: conversation.status == "finished", message="end of the run")
    assert used.read_text().startswith(SECRET)


@pytest.fixture(scope="module")
def crashed(open_dialogue, restart_server):
    """Conversations in the middle of their work, the server killed and started again."""
    hit = {
        "command": open_dialogue(shell("sleep 60"), *[say("back")] * 2),
        "llm": open_dialogue(*thinking(1), say("second", delay=30)),
        "waiting": open_dialogue(
            shell("touch executed"), *[say("over")] * 2, confirmation_policy={"kind": "AlwaysConfirm"}
        ),
    }
    hit["command"].wait_for("ActionEvent")
    hit["llm"].wait_for("ObservationEvent")
    hit["llm"].wait_llm_call()
    hit["waiting"].wait_status("waiting_for_confirmation")
    time.sleep(0.5)
    for conversation in hit.values():
        conversation.before = conversation.get(), conversation.events()
    restart_server("KILL")
    return hit


@pytest.mark.slow
@pytest.mark.parametrize("name", ["command", "llm"])
def test_a_conversation_that_was_running_in_a_crash_comes_back_as_error(crashed, name):
    assert crashed[name].before[0]["execution_status"] == "running"
    assert crashed[name].status == "error"
    events = crashed[name].before[1]
    assert crashed[name].events()[: len(events)] == events


@pytest.mark.slow
def test_a_command_cut_off_by_a_crash_is_answered_by_an_error(crashed):
    events = crashed["command"].events()
    (action,) = [event for event in events if event["kind"] == "ActionEvent"]
    (error,) = [event for event in events if event["kind"] == "AgentErrorEvent"]
    assert error["tool_call_id"] == action["tool_call_id"]
    assert error["tool_name"] == "terminal" and error["error"]
    assert unanswered(events) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["command", "llm"])
def test_a_conversation_goes_on_after_a_crash(crashed, name):
    conversation = crashed[name]
    conversation.tell(*[finish("recovered")] * 3)
    wait_until(lambda: conversation.final_response == "recovered", 30, message="answer")
    assert unanswered(conversation.wait_finished()) == []


@pytest.mark.slow
def test_an_action_waiting_for_confirmation_survives_a_crash(crashed):
    conversation = crashed["waiting"]
    assert conversation.status == "waiting_for_confirmation"
    assert not (Path(conversation.working_dir) / "executed").exists()


@pytest.mark.slow
@pytest.mark.beyond  # version 1.58.2 tells the LLM the result but not the call (1.23.1 was right)
def test_an_action_can_be_confirmed_after_a_crash(crashed):
    conversation = crashed["waiting"]
    conversation.ok("events/respond_to_confirmation", {"accept": True})
    wait_until(lambda: conversation.status in ("finished", "error"), 30, message="end of the run")
    assert unanswered(conversation.wait_finished()) == []
    assert (Path(conversation.working_dir) / "executed").exists()
