"""The demo model: an OpenAI-compatible endpoint that tells its story step by step and keeps no state."""

import json

import pytest

from agentserver.demo.story import END, STORY, next_turn

TOOLS = [{"type": "function", "function": {"name": name}} for name in ("terminal", "finish")]
PATH = "/demo/v1/chat/completions"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The story without its pauses."""

    async def at_once(_seconds):
        return None

    monkeypatch.setattr("agentserver.demo.wire.asyncio.sleep", at_once)


@pytest.fixture
def ask(async_client):
    """Callable: post a request; the answer's status and text."""

    async def _ask(messages, **more):
        body = {"model": "demo", "messages": messages, "tools": TOOLS, **more}
        response = await async_client.post(PATH, data=json.dumps(body), content_type="application/json")
        if response.streaming:
            return response.status_code, b"".join([part async for part in response]).decode()
        return response.status_code, response.content.decode()

    return _ask


def user(text="hello"):
    return {"role": "user", "content": text}


def history(turns):
    """The messages after ``turns`` of the story."""
    step = [{"role": "assistant", "content": None}, {"role": "tool", "content": "done"}]
    return [user(), *step * turns]


def test_the_story_goes_from_its_first_command_to_finish():
    turns = [next_turn(history(n), {"terminal", "finish"}) for n in range(len(STORY) + 1)]

    assert [turn.tool for turn in turns] == ["terminal"] * len(STORY) + ["finish"]
    assert turns[-1].arguments == {"message": END}


def test_a_new_message_begins_the_story_again():
    assert next_turn([*history(3), user("again")], {"terminal"}) == STORY[0]


@pytest.mark.parametrize("tools", [set(), {"finish"}, {"file_editor"}])
def test_without_a_terminal_it_says_so_and_calls_nothing_it_was_not_given(tools):
    assert next_turn(history(0), tools).tool in {None, *tools} - {"file_editor"}


async def test_a_whole_answer_is_a_chat_completion(ask):
    status, text = await ask(history(0))

    answer = json.loads(text)
    call = answer["choices"][0]["message"]["tool_calls"][0]["function"]
    assert status == 200
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "demo"
    assert json.loads(call["arguments"]) == STORY[0].arguments


async def test_a_streamed_answer_brings_the_same_in_pieces(ask):
    status, text = await ask(history(0), stream=True)

    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    deltas = [json.loads(line)["choices"][0]["delta"] for line in lines[:-1]]
    said = "".join(delta.get("content") or "" for delta in deltas)
    calls = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
    assert status == 200
    assert lines[-1] == "[DONE]"
    assert said == STORY[0].say
    assert [call["function"]["name"] for call in calls] == ["terminal"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"model": "another"}, 404),
        ({"messages": []}, 422),
        ({"messages": "hello"}, 422),
        ({"messages": [1]}, 422),
        ({"model": None}, 422),
        ({"tools": [1]}, 422),
        ({"tools": [{"function": 1}, {"function": {"name": []}}]}, 200),
        ({"messages": [{}]}, 200),
    ],
)
async def test_a_bad_request_is_refused_with_a_reason(ask, body, status):
    got, text = await ask(**{"messages": [user()], **body})

    assert got == status
    assert status == 200 or "detail" in json.loads(text)


async def test_the_model_is_listed_by_its_name(async_client):
    response = await async_client.get("/demo/v1/models")

    assert [model["id"] for model in response.json()["data"]] == ["demo"]
