"""Token streams of a run as frames that are shown and not stored; masked by the SDK."""

from collections.abc import Callable
from typing import Any

from agentserver import live


def forwarder(group: str) -> Callable[[Any], None]:
    """The SDK's stream callback for the conversation that rings as ``group``. Any thread."""
    from openhands.sdk.agent.stream_context import StreamAborted, StreamDelta, StreamStarted

    names = {StreamStarted: "item_started", StreamDelta: "delta", StreamAborted: "item_aborted"}

    def forward(progress: Any) -> None:
        fields = {name: getattr(progress, name) for name in progress.__slots__}
        live.transient(group, {"type": names[type(progress)], **fields})

    return forward
