"""Token streams of a run as frames that are shown and not stored; masked by the SDK.

What the open ones have said so far is kept with their conversation, for whoever joins in the middle.
"""

import functools
import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

from agentserver import live
from conversations import engine
from conversations.models import Conversation, group_of

OPEN = 4
"""Streams of one conversation that are kept; a finished one stays until others push it out."""
LONGEST = 50_000
"""Characters that are kept of one: its end."""
SO_FAR = "so_far"
"""The type of the answer to ``ask``: frames for those who asked."""


@dataclass(slots=True)
class Stream:
    """One answer of a model as it comes. ``order`` is that of the newest delta."""

    started: dict[str, Any]
    order: int = -1
    said: dict[str, str] = field(default_factory=dict)

    def hear(self, delta: dict[str, Any]) -> None:
        self.order = delta["order"]
        text = self.said.get(delta["kind"], "") + delta["content"]
        self.said[delta["kind"]] = text if len(text) <= 2 * LONGEST else text[-LONGEST:]

    def frames(self) -> list[dict[str, Any]]:
        """The beginning again, and all that was said as one delta of each kind."""
        head = {name: self.started[name] for name in ("item_id", "attempt")} | {"order": self.order}
        deltas = [
            {"type": "delta", **head, "kind": kind, "content": _end(said)} for kind, said in self.said.items()
        ]
        return [self.started, *deltas]


def _end(text: str) -> str:
    return text if len(text) <= LONGEST else f"… {text[-LONGEST:]}"


class Streams:
    """The streams of one loaded conversation. ``forward`` is the SDK's callback. Any thread."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._open: dict[str, Stream] = {}
        self._lock = threading.Lock()  # keeps what is kept and what is sent in one order

    def forward(self, progress: Any) -> None:
        fields = {name: getattr(progress, name) for name in progress.__slots__}
        frame = {"type": _names()[type(progress)], **fields}
        with self._lock:
            self._keep(frame)
            live.transient(self._group, frame)

    def _keep(self, frame: dict[str, Any]) -> None:
        item = frame["item_id"]
        if frame["type"] == "item_started":
            _speaking[self._group] = self  # not before: copies for questions never speak
            self._open.pop(item, None)  # a new attempt begins anew
            self._open[item] = Stream(frame)
            while len(self._open) > OPEN:
                del self._open[next(iter(self._open))]
        elif frame["type"] == "item_aborted":
            self._open.pop(item, None)
        elif item in self._open:
            self._open[item].hear(frame)

    def so_far(self) -> list[dict[str, Any]]:
        with self._lock:
            return self._frames()

    def say_again(self) -> None:
        """Send it to who asked, in the order of everything else."""
        with self._lock:
            live.transient(self._group, {"type": SO_FAR, "frames": self._frames()})

    def _frames(self) -> list[dict[str, Any]]:
        return [frame for stream in self._open.values() for frame in stream.frames()]


# By group, from the first stream on, as long as the SDK's conversation has the callback.
_speaking: "weakref.WeakValueDictionary[str, Streams]" = weakref.WeakValueDictionary()


def so_far(group: str) -> list[dict[str, Any]]:
    """What is being said now by a conversation of this process, as frames."""
    streams = _speaking.get(group)
    return [] if streams is None else streams.so_far()


def ask(row: Conversation) -> None:
    """Have the runner that has it say it again: a ``SO_FAR`` comes soon, or never. Never blocks."""
    live.transient(engine.group_of(row.runner), {"streams_of": group_of(row.id)})


def answer(payload: dict[str, Any]) -> None:
    """What a runner does with what ``ask`` sent. Where nothing is said yet, it says so: who asked waits."""
    group = str(payload.get("streams_of"))
    streams = _speaking.get(group)
    if streams is not None:
        streams.say_again()
    else:
        live.transient(group, {"type": SO_FAR, "frames": []})


@functools.cache
def _names() -> dict[type, str]:
    from openhands.sdk.agent.stream_context import StreamAborted, StreamDelta, StreamStarted

    return {StreamStarted: "item_started", StreamDelta: "delta", StreamAborted: "item_aborted"}
