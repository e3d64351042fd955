"""litellm's own client in place of OpenAI's (docs/decisions/0015): the model and the agent see the same.

Each test asks the scripted model both ways, by the switch that ``bootstrap`` sets.
"""

import asyncio
import contextlib
import json
import uuid

import httpx
import pytest

from agentserver.bootstrap import MODEL_CLIENT as SWITCH
from agentserver.sdk import require

# pydantic on a type of litellm's, when the first stream is read; with and without the switch.
pytestmark = pytest.mark.filterwarnings("ignore:Item 'summary' on TypedDict")


@pytest.fixture
def messages():
    """Callable: a conversation of every kind of message, ending in a plan with these steps."""
    require()
    from openhands.sdk import ImageContent, Message, TextContent
    from openhands.sdk.llm import MessageToolCall

    call = MessageToolCall(
        id="call_1", name="think", arguments='{"thought": "é\\u0000"}', origin="completion"
    )

    def _messages(*steps):
        plan = "PLAN " + json.dumps({"steps": steps, "mark": uuid.uuid4().hex})
        return [
            Message(role="system", content=[TextContent(text="rules"), TextContent(text="more")]),
            Message(
                role="user",
                content=[TextContent(text="look"), ImageContent(image_urls=["data:image/png;base64,AA"])],
            ),
            Message(
                role="assistant", content=[TextContent(text="")], tool_calls=[call], reasoning_content="hm"
            ),
            Message(role="tool", name="think", tool_call_id="call_1", content=[TextContent(text="ok 🙂")]),
            Message(role="user", content=[TextContent(text=plan)]),
        ]

    return _messages


@pytest.fixture
def ask(llm_url, monkeypatch):
    """Callable: what ``acompletion`` gives for messages, with litellm's client or without."""

    def _ask(own_client, messages, *, cancel_when=None, base_url=None, **options):
        from openhands.sdk import LLM

        monkeypatch.setenv(SWITCH, str(own_client).lower())
        url = base_url or f"{llm_url}/v1"
        llm = LLM(usage_id="t", model="openai/gpt-4o", base_url=url, api_key="k", num_retries=0, **options)
        pieces = []
        on_token = pieces.append if options.get("stream") else None

        async def asking():
            task = asyncio.create_task(llm.acompletion(messages, on_token=on_token))
            if cancel_when is not None:
                await asyncio.to_thread(cancel_when)
                task.cancel()
            return await task

        return asyncio.run(asking()), pieces

    return _ask


def seen(llm_url, messages):
    """The requests the scripted model got with these messages, without when that was."""
    mark = json.loads(messages[-1].content[0].text.removeprefix("PLAN "))["mark"]
    requests = httpx.get(f"{llm_url}/requests", params={"contains": mark}).json()
    return [{name: value for name, value in one.items() if name != "began"} for one in requests]


def test_the_server_sets_the_switch_unless_it_is_set_already(monkeypatch):
    from agentserver import bootstrap

    monkeypatch.delenv(SWITCH, raising=False)
    bootstrap.prepare()
    assert bootstrap.os.environ[SWITCH] == "true"

    monkeypatch.setenv(SWITCH, "false")
    bootstrap.prepare()
    assert bootstrap.os.environ[SWITCH] == "false"


def test_the_model_gets_the_same_request(ask, messages, llm_url):
    asked = messages({"say": "yes", "tool": "think", "args": {"thought": "x"}})

    for own_client in (False, True):
        answer, _ = ask(own_client, asked, litellm_extra_body={"extra": 1}, extra_headers={"X-Mine": "1"})
        assert answer.message.content[0].text == "yes"
        assert answer.message.tool_calls[0].arguments == '{"thought": "x"}'
        assert answer.raw_response.usage.prompt_tokens == 100

    without, with_it = seen(llm_url, asked)
    assert with_it == without
    assert with_it["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"thought": "é\\u0000"}'


def test_a_stream_comes_in_the_same_pieces(ask, messages):
    asked = messages({"say": "some words in pieces", "chunks": 4, "tool": "think", "args": {"thought": "x"}})

    texts = []
    for own_client in (False, True):
        answer, pieces = ask(own_client, asked, stream=True)
        texts.append([piece.choices[0].delta.content for piece in pieces if piece.choices[0].delta.content])
        assert answer.message.tool_calls[0].name == "think"

    assert texts[0] == texts[1]
    assert len(texts[1]) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 422, 429, 500, 502, 503])
def test_an_error_has_the_same_type_and_says_why(ask, messages, status):
    asked = messages({"status": status, "say": "the reason"})

    errors = []
    for own_client in (False, True):
        with pytest.raises(Exception, match="the reason") as caught:
            ask(own_client, asked)
        errors.append(type(caught.value))

    assert errors[0] is errors[1]


def test_a_conversation_that_is_too_long_is_told_from_other_mistakes(ask, messages):
    from openhands.sdk.llm.exceptions import LLMContextWindowExceedError

    too_long = "This model's maximum context length is 4097 tokens. However, you asked for more."
    with pytest.raises(LLMContextWindowExceedError):
        ask(True, messages({"status": 400, "say": too_long}))


def test_a_model_that_is_away_is_told_by_the_same_type(ask, messages):
    errors = []
    for own_client in (False, True):
        with pytest.raises(Exception) as caught:
            ask(own_client, messages(), base_url="http://127.0.0.1:9/v1")
        errors.append(type(caught.value))

    assert errors[0] is errors[1]


@pytest.mark.parametrize("stream", [False, True])
def test_a_cancelled_call_closes_its_connection(ask, messages, llm_url, wait_until, stream):
    asked = messages({"say": "never", "delay": 0 if stream else 60, "chunks": 2, "gap": 60})

    with pytest.raises(asyncio.CancelledError), contextlib.suppress(TimeoutError):
        ask(True, asked, stream=stream, cancel_when=lambda: wait_until(lambda: seen(llm_url, asked), 20))

    wait_until(lambda: seen(llm_url, asked)[0]["outcome"] == "cancelled", 10, message="closed connection")
