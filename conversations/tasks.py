"""The jobs of the engine. Imported only where it is installed: on PostgreSQL with Redis."""

import asyncio
import datetime
import functools
import logging
import uuid

from django.utils import timezone
from procrastinate import JobContext
from procrastinate.contrib.django import app
from procrastinate.exceptions import UniqueViolation
from procrastinate.jobs import Status as JobStatus

from agentserver import conf, threads, writer
from agentserver.causes import is_database_trouble
from conversations import engine, intents, jobs, removal
from conversations.models import Command, Conversation, Status

logger = logging.getLogger(__name__)

FAILURE_SECONDS = 60
"""How long a command that could not be carried out waits for somebody to be told."""
BATCH = 200
"""Conversations looked after in one go."""


@app.task(name="tend", pass_context=True)
async def tend(context: JobContext, conversation_id: str) -> None:
    """Look after a conversation until nothing is asked of it. Its lock keeps all others out."""
    from conversations import runner  # it brings the agent SDK, which web processes import later

    take_up, one = runner.current().take_up, uuid.UUID(conversation_id)
    is_held = functools.partial(_is_held, context.job.id, context.job.attempts)
    while True:
        try:
            over = await threads.run_in(threads.waiting(), take_up, one, is_held)
        except Exception as error:
            if not is_database_trouble(error):
                logger.exception("Conversation %s cannot be looked after", one)
                await threads.run_in(threads.waiting(), engine.give_up, one, error)
                return
            await asyncio.sleep(jobs.RETRY_SECONDS)
            continue
        if over is None:
            return
        await asyncio.shield(asyncio.wrap_future(over))


def _is_held(job_id: int | None, attempts: int) -> bool:
    """Whether the job was not given to another runner, while this one showed no life."""
    from procrastinate.contrib.django.models import ProcrastinateJob

    return ProcrastinateJob.objects.filter(id=job_id, status="doing", attempts=attempts).exists()


@app.periodic(cron="* * * * * */2")  # the last field is seconds
@app.task(name="rescue", queue=conf.HOUSE_QUEUE, queueing_lock="rescue", pass_context=True)
async def rescue(context: JobContext, timestamp: int) -> None:
    """Give the jobs of runners that show no life to others."""
    # Where the database was away, those that it cut off need a moment to say that they live.
    if jobs.in_touch_for() < conf.current().runner_stalled_seconds + jobs.RECONNECT_SECONDS:
        return
    manager = context.app.job_manager
    for job in await manager.get_stalled_jobs(seconds_since_heartbeat=conf.current().runner_stalled_seconds):
        logger.warning("The runner of job %s (%s) shows no life", job.id, job.queueing_lock)
        try:
            await manager.retry_job(job)
        except UniqueViolation:  # a fresh job waits already
            await manager.finish_job(job, JobStatus.FAILED, delete_job=True)


@app.periodic(cron="* * * * * */5")
@app.task(name="look-around", queue=conf.HOUSE_QUEUE, queueing_lock="look-around")
async def look_around(timestamp: int) -> None:
    """The second line: what is asked of conversations and has no job gets one; leftovers go."""
    await threads.run_in(threads.waiting(), _look_around)


def _look_around() -> None:
    running = Conversation.objects.running().values_list("id", flat=True)
    for conversation_id in {*intents.outstanding()[:BATCH], *_without_job(list(running[: 10 * BATCH]))}:
        writer.current().call(lambda one=conversation_id: engine.enqueue(one))
    stale = timezone.now() - datetime.timedelta(seconds=FAILURE_SECONDS)
    refused = Command.objects.exclude(failure="").filter(created_at__lt=stale)
    writer.current().call(refused.delete)
    deleting = Conversation.objects.filter(status=Status.DELETING, updated_at__lt=stale)
    for conversation_id in list(deleting.values_list("id", flat=True)[:BATCH]):
        writer.current().call(lambda one=conversation_id: removal.remove(one))


def _without_job(conversation_ids: list[uuid.UUID]) -> set[uuid.UUID]:
    from procrastinate.contrib.django.models import ProcrastinateJob

    names = [str(one) for one in conversation_ids]
    live = ProcrastinateJob.objects.filter(lock__in=names, status__in=["todo", "doing"])
    return set(conversation_ids) - {uuid.UUID(name) for name in live.values_list("lock", flat=True)}
