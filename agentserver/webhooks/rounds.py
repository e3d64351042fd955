"""A round: one webhook is told all it has yet to hear of one conversation, one post after another."""

import asyncio
import contextlib
import datetime
import logging
import math
import uuid
from typing import TYPE_CHECKING

from django.utils import timezone

from agentserver import conf
from agentserver.webhooks import backoff, health, outbox, parcels
from agentserver.webhooks.outbox import Place
from agentserver.webhooks.parcels import Parcel
from agentserver.webhooks.posting import Outcome
from conversations import removal

if TYPE_CHECKING:
    from agentserver.webhooks.routes import Route

logger = logging.getLogger(__name__)

LEASE_MARGIN = 15
"""Seconds a post is ours beyond its time: for the database, and clocks of machines that differ."""
LONGEST_WAIT = 15
"""Seconds after which one looks again whether another process still has the conversation."""


class Round:
    """On the courier's loop. Begins when something is heard and ends when all is told."""

    def __init__(self, route: "Route", conversation_id: uuid.UUID, *, at_once: bool) -> None:
        self.route, self.conversation_id = route, conversation_id
        self._newest = -1
        self._stale = False  # an announcement, or the end: to be looked up
        self._heard, self._released = asyncio.Event(), asyncio.Event()
        # When the oldest event that waits came.
        self._since = -math.inf if at_once else asyncio.get_running_loop().time()
        self.theirs = False  # the receiver said that the post is wrong

    def hear(self, sequence: int | None) -> None:
        """There are events up to ``sequence``; None: something else changed."""
        if sequence is None:
            self._stale = True
        else:
            self._newest = max(self._newest, sequence)
        self._heard.set()

    def release(self) -> None:
        """Wait no longer before the next try."""
        self._released.set()
        self._heard.set()

    async def run(self) -> None:
        while True:
            self._stale = False
            place = await self._look()
            if place is None:
                return
            if place.behind:
                if not await self._tell(place) and self.route.courier.flushing:
                    return
            elif not self._stale and self._newest < place.posted:
                if place.last:
                    await self.route.courier.write(removal.remove, self.conversation_id)
                return

    async def _look(self) -> Place | None:
        courier = self.route.courier
        return await courier.read(outbox.look, self.route.hook.id, self.conversation_id, courier.holder)

    async def _tell(self, place: Place) -> bool:
        """Post what comes next when it is due; False if that has to wait for something else."""
        if place.busy:
            await self._wait(self._heard, min(place.busy, LONGEST_WAIT))
            return False
        if place.is_info or await self._due(place):
            failed = await self._post(place)
            if failed is not None:
                await self._wait(self._released, failed)
                return False
        return True

    async def _due(self, place: Place) -> bool:
        """Wait until the events are to be posted: enough of them, or for long enough. False: look again."""
        hook, loop = self.route.hook, asyncio.get_running_loop()
        while not self._stale:
            enough = max(self._newest, place.newest) + 1 - place.posted >= hook.event_buffer_size
            left = self._since + hook.flush_delay - loop.time()
            if enough or left <= 0 or place.through is not None or place.deleting:
                return True
            if self.route.courier.flushing:
                return True
            await self._wait(self._heard, left)
        return False

    async def _wait(self, event: asyncio.Event, seconds: float) -> None:
        if self.route.courier.flushing:
            return
        event.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()

    async def _post(self, place: Place) -> float | None:
        """Post what comes next. None if it was accepted, or overtaken; else seconds until the next try."""
        courier, hook = self.route.courier, self.route.hook
        async with self.route.turn():
            parcel = await courier.read(parcels.following, place, hook)
            if parcel is None or not await self._claim(place, parcel):
                return 1.0  # another process has it, or it has gone: look again
            begun = asyncio.get_running_loop().time()
            outcome = await courier.poster.post(hook, parcel)
            if outcome.accepted:
                self._since, self.theirs = begun, False
                await courier.write(outbox.accepted, place, parcel.through, courier.holder)
                await self.route.worked()
                return None
            return await self._note(place, outcome)

    async def _claim(self, place: Place, parcel: Parcel) -> bool:
        courier = self.route.courier
        seconds = conf.current().webhook_timeout_seconds + LEASE_MARGIN
        until = timezone.now() + datetime.timedelta(seconds=seconds)
        through = place.through if parcel.through is None else parcel.through
        return await courier.write(outbox.claim, place, through, courier.holder, until)

    async def _note(self, place: Place, outcome: Outcome) -> float:
        """Keep what went wrong; seconds until the next try."""
        hook, courier = self.route.hook, self.route.courier
        self.theirs, error = outcome.theirs, outcome.error or ""
        seconds = backoff.delay(hook, place.failures + 1, outcome.retry_after)
        next_at = timezone.now() + datetime.timedelta(seconds=seconds)
        logger.info("Webhook %s: %s, again in %.1f s", hook.id, error, seconds)
        await courier.write(outbox.failed, place, courier.holder, error, next_at)
        self.route.did_not_work(outcome)
        if await courier.write(health.failed, hook.id, error):
            courier.reload()
        return seconds
