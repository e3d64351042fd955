"""What is read out of an event's wire form for the columns that searches use."""

import re
from typing import Any

import orjson

_TOKEN = re.compile(r'"gAAAAA[A-Za-z0-9_\-]{60,}={0,2}"')
MASK = "**********"


def masked(text: str) -> str:
    """JSON ``text`` with every encrypted value replaced by the mask clients know."""
    return _TOKEN.sub(f'"{MASK}"', text)


def storable(text: str) -> str:
    """``text`` as both database engines take it: no NUL, no lone surrogates."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def columns(payload: str) -> dict[str, str]:
    """kind, source, timestamp and body of an event's JSON."""
    event = orjson.loads(payload)
    return {
        "kind": str(event.get("kind", ""))[:64],
        "source": str(event.get("source", ""))[:32],
        "timestamp": comparable(str(event.get("timestamp", ""))),
        "body": storable(body(event)),
    }


def comparable(timestamp: str) -> str:
    """An ISO time as text that sorts: Python leaves the microseconds out when they are zero."""
    if len(timestamp) == 19:
        return timestamp + ".000000"
    return timestamp[:26]


def body(event: dict[str, Any]) -> str:
    """The text of a message in lower case: what a body search looks at, as in the reference."""
    if event.get("kind") != "MessageEvent":
        return ""
    content = (event.get("llm_message") or {}).get("content") or []
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict)).lower()
