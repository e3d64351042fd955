"""A route: one webhook, its rounds, and how many posts its receiver gets at once."""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from agentserver.webhooks import health, outbox
from agentserver.webhooks.hooks import Hook
from agentserver.webhooks.posting import Outcome
from agentserver.webhooks.rounds import Round

if TYPE_CHECKING:
    from agentserver.webhooks.courier import Courier

logger = logging.getLogger(__name__)

ROUNDS = 100
"""Conversations of a webhook that are in memory at once; the others wait in their rows."""
ROUNDS_IN_TROUBLE = 10
"""The same while its receiver does not answer."""
POSTS = 4
"""Posts to one receiver at once."""
TROUBLE = 3
"""Failures in a row, of any conversations, after which one post at a time tries whether it is back."""
ERROR_SECONDS = 10
"""Before a round that broke off, as when the database is away, is looked at again."""


class Route:
    """On the courier's loop."""

    def __init__(self, courier: "Courier", hook: Hook) -> None:
        self.courier, self.hook = courier, hook
        self.failures = 0
        self._rounds: dict[uuid.UUID, Round] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots, self._probe = asyncio.Semaphore(POSTS), asyncio.Lock()
        self._not_before = 0.0
        # The search for what no round is for: in order of the rows' ids, as far as there is room.
        self._searching, self._again, self._reached, self._met = True, False, 0, False

    def hear(self, conversation_id: uuid.UUID, sequence: int | None) -> None:
        """A conversation has events up to ``sequence``; None: something else of it changed."""
        if (going := self._rounds.get(conversation_id)) is not None:
            going.hear(sequence)
        elif self._room() > 0:
            self._begin(conversation_id).hear(sequence)
        else:
            self.search()

    def _begin(self, conversation_id: uuid.UUID, *, at_once: bool = False) -> Round:
        self._rounds[conversation_id] = begun = Round(self, conversation_id, at_once=at_once)
        name = f"webhook-{self.hook.id}-{conversation_id.hex}"
        task = asyncio.create_task(self._run(begun), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return begun

    async def _run(self, begun: Round) -> None:
        try:
            await begun.run()
        except Exception:
            logger.exception("Webhook %s: a round broke off; it begins anew", self.hook.id)
            await asyncio.sleep(ERROR_SECONDS)
            self.search()
        finally:
            del self._rounds[begun.conversation_id]
            if self._searching:
                self.courier.wake()

    def _room(self) -> int:
        return (ROUNDS_IN_TROUBLE if self.failures >= TROUBLE else ROUNDS) - len(self._rounds)

    # Finding what waits in the rows

    def search(self) -> None:
        """Something may wait that no round is for."""
        self._searching = self._again = True

    async def fill(self) -> None:
        """Begin rounds for what waits, while there is room."""
        while self._searching and (room := self._room()) > 0:
            if self._reached == 0:
                self._again = False
            found = await self.courier.read(outbox.behind, self.hook.id, self._reached, room)
            for self._reached, conversation_id in found:
                self._meet(conversation_id)
            if len(found) < room:
                self._reached, self._searching = 0, self._again
                await self._meet_unknown()

    async def _meet_unknown(self) -> None:
        """Once, at the beginning: conversations that were used when this webhook heard nothing."""
        if not self._met and (room := self._room()) > 0:
            found = await self.courier.read(outbox.unknown, self.hook, room)
            for conversation_id in found:
                self._meet(conversation_id)
            self._met = len(found) < room

    def _meet(self, conversation_id: uuid.UUID) -> None:
        if conversation_id not in self._rounds:
            # What waited when the server started has waited for long enough.
            self._begin(conversation_id, at_once=not self._met)

    # Posting

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Within it one may post: not too many at once, one in trouble, none before the receiver says."""
        async with self._slots, self._probe if self.failures >= TROUBLE else contextlib.nullcontext():
            loop = asyncio.get_running_loop()
            if (wait := self._not_before - loop.time()) > 0:
                await asyncio.sleep(wait)
            async with self.courier.slots:
                yield

    async def worked(self) -> None:
        """A post was accepted. After trouble, those that wait are tried at once."""
        failed, self.failures = self.failures, 0
        if failed or self.hook.failing:
            await self.courier.write(health.works, self.hook.id)
        if failed >= TROUBLE:
            for going in self._rounds.values():
                if not going.theirs:
                    going.release()
            self.search()
            self.courier.wake()

    def release(self) -> None:
        """Try at once what waits to be tried again."""
        for going in self._rounds.values():
            going.release()

    def did_not_work(self, outcome: Outcome) -> None:
        if not outcome.theirs:
            self.failures += 1
        if outcome.retry_after is not None:
            self._not_before = asyncio.get_running_loop().time() + outcome.retry_after

    # Leaving

    def flush(self) -> list[asyncio.Task[None]]:
        """Post what waits, now; the tasks that do. A receiver that does not answer is not waited for."""
        tasks = list(self._tasks)
        for task in tasks if self.failures else ():
            task.cancel()
        self.release()
        return tasks

    def close(self) -> list[asyncio.Task[None]]:
        for task in self._tasks:
            task.cancel()
        return list(self._tasks)
