"""A turn in the form of OpenAI's chat completions, whole or as a stream."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

from agentserver.demo.story import MODEL, Turn

# Invented: nothing is counted, and clients divide by these.
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
PIECES = 12
"""Into how many pieces a stream cuts the text of a turn."""


async def whole(turn: Turn) -> AsyncIterator[bytes]:
    """The answer as one JSON document, after the seconds of the turn."""
    await asyncio.sleep(turn.seconds)
    message: dict[str, Any] = {"role": "assistant", "content": turn.say or None}
    if turn.tool:
        message["tool_calls"] = [_call(turn)]
    choice = {"index": 0, "message": message, "finish_reason": _reason(turn)}
    yield json.dumps({**_head("chat.completion"), "choices": [choice], "usage": USAGE}).encode()


async def streamed(turn: Turn) -> AsyncIterator[bytes]:
    """The answer as server-sent events, spread over the seconds of the turn."""
    head = _head("chat.completion.chunk")
    yield _chunk(head, {"role": "assistant", "content": ""})
    for piece in _cut(turn.say):
        await asyncio.sleep(turn.seconds / PIECES)
        yield _chunk(head, {"content": piece})
    if turn.tool:
        yield _chunk(head, {"tool_calls": [{"index": 0, **_call(turn)}]})
    yield _chunk(head, {}, _reason(turn), usage=USAGE)
    yield b"data: [DONE]\n\n"


def _cut(text: str) -> list[str]:
    size = max(1, -(-len(text) // PIECES))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _head(kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": MODEL}


def _call(turn: Turn) -> dict[str, Any]:
    function = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
    return {"id": f"call_{uuid.uuid4().hex[:12]}", "type": "function", "function": function}


def _reason(turn: Turn) -> str:
    return "tool_calls" if turn.tool else "stop"


def _chunk(head: dict[str, Any], delta: dict[str, Any], reason: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: " + json.dumps({**head, "choices": [choice], **more}).encode() + b"\n\n"
