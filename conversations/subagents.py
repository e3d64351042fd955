"""Sub-agents run where a stop reaches them: their model calls are awaited, not blocked on.

The SDK's tools run a sub-agent's conversation synchronously on a tool thread, where neither its
model call nor its command could be stopped. Here such a run is an asyncio run on one loop for all
sub-agents of the process (not the lane's: while it cancels a batch of tools, it waits for them).
"""

import asyncio
import contextvars
import functools
import importlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from openhands.sdk.conversation.impl.local_conversation import LocalConversation

from agentserver import threads
from conversations import processes

TOOL_THREADS = 32
"""Tool calls of all sub-agents of the process at once."""

# Tools that make conversations of their own, by the class they find under this name.
_MAKERS = ("openhands.tools.task.manager", "openhands.tools.delegate.impl")


class Family:
    """The sub-agents that run on behalf of one conversation. Thread-safe."""

    def __init__(self) -> None:
        self._members: set[SubConversation] = set()
        self._lock = threading.Lock()

    def add(self, member: "SubConversation") -> None:
        with self._lock:
            self._members.add(member)

    def discard(self, member: "SubConversation") -> None:
        with self._lock:
            self._members.discard(member)

    def __iter__(self) -> Iterator["SubConversation"]:
        with self._lock:
            return iter(list(self._members))

    def interrupt(self) -> None:
        """Cancel the model calls and end the commands of all; returns at once."""
        for member in self:
            member.interrupt()
            threads.waiting().submit(processes.end_commands, member)

    def pause(self) -> None:
        """Let none of them begin another step; returns at once."""
        for member in self:
            threads.waiting().submit(member.pause)


running_for: contextvars.ContextVar[Family | None] = contextvars.ContextVar("running_for", default=None)
"""The family that the present run belongs to; tool threads inherit it."""


class SubConversation(LocalConversation):
    """A sub-agent's conversation. ``run`` blocks its tool thread as the SDK's does."""

    __hash__ = object.__hash__

    def run(self) -> None:
        family = running_for.get()
        if family is None:
            super().run()
            return
        family.add(self)
        try:
            asyncio.run_coroutine_threadsafe(self.arun(), _loop()).result()
        finally:
            family.discard(self)


def install() -> None:
    """Let the SDK's tools make their conversations by our class."""
    for name in _MAKERS:
        importlib.import_module(name).LocalConversation = SubConversation


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.set_default_executor(ThreadPoolExecutor(TOOL_THREADS, thread_name_prefix="sub-agent-tool"))
    threading.Thread(target=loop.run_forever, name="sub-agents", daemon=True).start()
    return loop
