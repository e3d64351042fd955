"""What an agent is told of a chat: the last message, what was said before, the system's words."""

import pytest

from agentserver.catalog.openai_bodies import ChatMessage
from agentserver.catalog.openai_prompts import CannotAnswer, prompt_of


def chat(*turns):
    return [ChatMessage(role=role, content=content) for role, content in turns]


TURNS = chat(("system", "Be brief."), ("user", "One?"), ("assistant", "Two."), ("user", "Three?"))


def test_earlier_turns_are_told_to_a_new_agent():
    prompt = prompt_of(TURNS, continued=False)

    assert (prompt.system, prompt.text) == ("Be brief.", "Three?")
    assert [part["text"] for part in prompt.content] == [
        "What was said before in this chat:\n\nuser: One?\n\nassistant: Two.",
        "Three?",
    ]


def test_an_agent_that_knows_them_is_told_the_last_message_only():
    assert prompt_of(TURNS, continued=True).content == [{"type": "text", "text": "Three?"}]


def test_images_are_passed_on():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    prompt = prompt_of([ChatMessage.model_validate({"role": "user", "content": [image]})], continued=False)

    assert prompt.content == [{"type": "image", "image_urls": ["data:image/png;base64,AAAA"]}]


@pytest.mark.parametrize(
    "turns",
    [
        [],
        [("system", "alone")],
        [("user", "")],
        [("user", "hi"), ("assistant", "ho")],
        [("user", [{"type": "video"}])],
        [("user", [{"type": "image_url"}])],
        [("system", "x" * 40_000), ("user", "hi")],
    ],
)
def test_what_no_agent_can_answer_is_refused(turns):
    with pytest.raises(CannotAnswer):
        prompt_of(chat(*turns), continued=False)
