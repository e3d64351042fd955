"""From a list of chat messages to what an agent is told: a system text and one message of the user."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentserver.catalog.openai_bodies import ChatMessage, Part
from agentserver.errors import Problem

SYSTEM_CHARACTERS = 32_768
TEXT_PARTS = {"text", "input_text", "output_text"}
IMAGE_PARTS = {"image_url", "input_image"}


class CannotAnswer(Problem):
    code = "cannot_answer"


@dataclass(frozen=True, slots=True)
class Prompt:
    """``content``: the SDK's wire form of a user message; ``text``: its words, for a title."""

    system: str
    content: list[dict[str, Any]]
    text: str


def prompt_of(messages: Sequence[ChatMessage], *, continued: bool) -> Prompt:
    """The last message is asked; earlier turns are told along unless the agent knows them.

    Raises CannotAnswer (400).
    """
    asked = [message for message in messages if message.role not in ("system", "developer")]
    if not asked or asked[-1].role != "user":
        raise CannotAnswer("The last message must be one of the user.")
    content = [_content(part) for part in _parts(asked[-1])]
    if not any(part.get("text") or part.get("image_urls") for part in content):
        raise CannotAnswer("The last message is empty.")
    text = "\n".join(part["text"] for part in content if "text" in part)
    if not continued and (earlier := _told(asked[:-1])):
        content.insert(0, {"type": "text", "text": earlier})
    return Prompt(system=_system(messages), content=content, text=text)


def _parts(message: ChatMessage) -> list[Part]:
    if isinstance(message.content, list):
        return message.content
    return [Part(type="text", text=message.content or "")]


def _content(part: Part) -> dict[str, Any]:
    if part.type in TEXT_PARTS:
        return {"type": "text", "text": part.text or ""}
    if part.type in IMAGE_PARTS:
        url = part.image_url.get("url") if isinstance(part.image_url, dict) else part.image_url
        if isinstance(url, str) and url:
            return {"type": "image", "image_urls": [url]}
    raise CannotAnswer("A part of a message is text or an image.")


def _words(message: ChatMessage) -> str:
    return "\n".join(part.text for part in _parts(message) if part.text)


def _told(earlier: Sequence[ChatMessage]) -> str:
    turns = [f"{message.role}: {_words(message)}" for message in earlier]
    return "\n\n".join(["What was said before in this chat:", *turns]) if turns else ""


def _system(messages: Sequence[ChatMessage]) -> str:
    text = "\n\n".join(_words(message) for message in messages if message.role in ("system", "developer"))
    if len(text) > SYSTEM_CHARACTERS:
        raise CannotAnswer(f"System messages may have {SYSTEM_CHARACTERS} characters in all.")
    return text
