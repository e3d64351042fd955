"""What bash does from the start of the server to its end: recover, prune, hear stops, close."""

import asyncio
import contextlib
import datetime
import logging
import threading
import uuid

from django.db import transaction
from django.utils import timezone

from agentserver import conf, lifespan, threads
from agentserver.live import hub
from bashevents import recovery, runner, services
from bashevents.retention import Pruning, interval

logger = logging.getLogger(__name__)

RECOVERY_SECONDS = 60
"""Between two looks for commands whose server, on another machine, has gone."""

_ended = threading.Event()


def register() -> None:
    lifespan.on_start("bash", start)
    lifespan.on_stop("bash", stop)


def follow_conversation(instance, **_) -> None:
    """A conversation is deleted: its commands and their events go as well.

    Called on the thread that deletes, which is often the writer's: so not done there.
    """
    transaction.on_commit(lambda: threads.waiting().submit(_forget, instance.pk))


def follow_deletion(conversation_id: uuid.UUID, **_) -> None:
    """The same while somebody keeps the rows of the deleted conversation for a while."""
    transaction.on_commit(lambda: threads.waiting().submit(_forget, conversation_id))


def _forget(conversation_id: uuid.UUID) -> None:
    try:
        services.forget_conversation(conversation_id=conversation_id)
    except Exception:
        logger.exception("The bash events of a deleted conversation stay until they are pruned")


async def start() -> None:
    """Recover, then leave three tasks running."""
    _ended.clear()
    await _recover()
    _keep(_keep_recovering(), "bash-recovery")
    _keep(_hear_stops(), "bash-stops")
    configuration = conf.current()
    retention = configuration.bash_events_retention_seconds
    if retention is not None and not configuration.engine:  # there it is a periodic job: once for all
        _keep(_keep_pruning(retention), "bash-pruning")


async def stop() -> None:
    """End every command, with all that came from it."""
    _ended.set()
    await asyncio.get_running_loop().run_in_executor(None, runner.close)


def _keep(coroutine, name: str) -> None:
    lifespan.watch(asyncio.create_task(coroutine, name=name))


async def _recover() -> None:
    try:
        await threads.run_in(threads.waiting(), recovery.end_orphans)
    except Exception:
        logger.exception("Looking for orphaned bash commands failed")


async def _keep_recovering() -> None:
    while True:
        await asyncio.sleep(RECOVERY_SECONDS)
        await _recover()


async def _keep_pruning(retention: float) -> None:
    while True:
        cutoff = timezone.now() - datetime.timedelta(seconds=retention)
        try:
            await threads.run_in(threads.waiting(), Pruning(cutoff, ended=_ended).run)
        except Exception:
            logger.exception("Pruning bash events failed; it is tried again")
        await asyncio.sleep(interval(retention))


async def _hear_stops() -> None:
    """Stop the commands of this process that clients of another one want stopped."""
    tail = await hub.subscribe(services.STOPS)
    try:
        while True:
            await tail.wait(3600)
            for ring in tail.take():
                with contextlib.suppress(ValueError, AttributeError):
                    command_id, _, conversation_id = ring.payload.partition(" ")
                    scope = uuid.UUID(conversation_id) if conversation_id else None
                    runner.current().stop(uuid.UUID(command_id), conversation_id=scope)
    finally:
        await hub.unsubscribe(tail)
