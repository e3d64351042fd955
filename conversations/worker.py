"""This process as one of the engine's runners: it takes jobs, and hears what is asked of what it has."""

import asyncio
import contextlib
import logging
import uuid

from agentserver import conf, lifespan, threads
from agentserver.live import Tail, hub
from conversations import engine, runner, streams

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
"""Between two looks at the rows of what runs here: what a lost ring costs."""
RETRY_SECONDS = 1.0
"""Before the next try where the database is away."""
POLL_SECONDS = 2.0
"""Between two looks for jobs where a notice of the database was lost."""

FORGET_SECONDS = 3600
"""After this a runner that showed no life is forgotten; one that was only cut off finds itself before."""
SPARE = 4
"""Jobs beside the runs: those that have only a command to carry out, and the periodic ones."""

_tasks: list[asyncio.Task[None]] = []


async def start() -> None:
    """Take the jobs of our queue from now on, and those that keep house.

    On the loop that the hub is bound to; the SDK is loaded.
    """
    await threads.run_in(threads.waiting(), runner.current)
    tail = await hub.subscribe(engine.group_of(runner.NAME))
    for name, coroutine in (("runner-jobs", _take_jobs()), ("runner-signals", _hear(tail))):
        task = asyncio.create_task(coroutine, name=name)
        _tasks.append(task)
        lifespan.watch(task)


async def drain(seconds: float) -> None:
    """Take no more, let runs end after their step and go on elsewhere; after ``seconds`` cut them off."""
    here = runner.current()
    await threads.run_in(threads.waiting(), lambda: here.hand_over(cut_off=False))
    await _wait_for_rest(seconds)
    if here.at_work():
        logger.warning("%d runs are cut off and handed over", len(here.at_work()))
        await threads.run_in(threads.waiting(), lambda: here.hand_over(cut_off=True))
        await _wait_for_rest(conf.current().wrap_up_seconds)
    for task in _tasks:
        task.cancel()
    await asyncio.gather(*_tasks, return_exceptions=True)
    _tasks.clear()


async def _wait_for_rest(seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while runner.current().at_work():  # noqa: ASYNC110  (it changes on lanes' threads)
                await asyncio.sleep(0.05)


async def _take_jobs() -> None:
    """Work as procrastinate's worker; begin again if it cannot begin."""
    from procrastinate.contrib.django import app

    from conversations import jobs

    stalled = conf.current().runner_stalled_seconds
    while True:
        try:
            # An app of its own: jobs are made on Django's connection, in their cause's transaction.
            async with app.with_connector(jobs.connector()).open_async() as working:
                await jobs.Worker(
                    working,
                    name=runner.NAME,
                    concurrency=runner.current().lanes.limit + SPARE,
                    install_signal_handlers=False,
                    fetch_job_polling_interval=POLL_SECONDS,
                    update_heartbeat_interval=stalled / 3,
                    stalled_worker_timeout=FORGET_SECONDS,
                    shutdown_graceful_timeout=1,
                    queues=[*conf.current().queues, conf.HOUSE_QUEUE],
                ).run()
        except Exception as error:
            logger.warning("The engine is away: %s. Trying again.", type(error).__name__)
        await asyncio.sleep(RETRY_SECONDS)


async def _hear(tail: Tail) -> None:
    """Stops, commands and deletions from other processes: heard as rings, and seen in the rows."""
    try:
        while True:
            await tail.wait(LOOK_SECONDS)
            payloads = [ring.payload for ring in tail.take()]
            rung = {uuid.UUID(payload) for payload in payloads if isinstance(payload, str)}
            for payload in payloads:
                if isinstance(payload, dict):
                    streams.answer(payload)
            asked = list(rung | set(runner.current().at_work()))
            if asked:
                threads.waiting().submit(_heed, asked)
    finally:
        await hub.unsubscribe(tail)


def _heed(conversation_ids: list[uuid.UUID]) -> None:
    try:
        runner.current().heed(conversation_ids)
    except Exception as error:
        logger.warning("Looking for stops failed: %s. It is done again.", type(error).__name__)
