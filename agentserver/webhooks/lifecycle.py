"""Webhooks from the start of the server to its end, and what they hear of conversations."""

import asyncio
import uuid

from django.db import connection, transaction

from agentserver import lifespan, threads, writer
from agentserver.live import hub
from agentserver.webhooks import courier, hooks, outbox
from conversations import signals

FLUSH_SECONDS = 3.0
"""What the end of the server waits for receivers; runs and shells come before and have their own time."""


def register() -> None:
    lifespan.on_start("webhooks", start)
    lifespan.on_stop("webhooks", stop)
    signals.changed.connect(follow_change)
    signals.leaving.connect(keep_deleted)


def follow_change(conversation_id: uuid.UUID, **_) -> None:
    """In the transaction of the change: it is to be announced, whatever dies."""
    if outbox.announce(conversation_id):
        transaction.on_commit(lambda: courier.notice(conversation_id))


def keep_deleted(conversation_id: uuid.UUID, **_) -> bool:
    return outbox.keep(conversation_id)


async def start() -> None:
    await threads.run_in(threads.waiting(), _start)


def _start() -> None:
    writer.current().call(_prepare)
    hub.overhear(courier.begin().overhear)


def _prepare() -> None:
    hooks.register()
    if connection.vendor == "sqlite":  # one process: whoever held a post has died
        outbox.release_all()


async def stop() -> None:
    if (here := courier.current()) is not None:
        hub.stop_overhearing(here.overhear)
        await asyncio.get_running_loop().run_in_executor(None, here.stop, FLUSH_SECONDS)
