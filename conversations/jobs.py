"""procrastinate's worker, made to stay where the database goes away for a while.

Its own way is to end, giving up its jobs: then every restart of PostgreSQL would move every run to another
runner, in the middle of a step. Here a runner keeps its jobs and tries again, and nobody is taken for dead
before the database has been there long enough for its sign of life.
"""

import asyncio
import logging
import time
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections
from procrastinate import PsycopgConnector, worker
from procrastinate.contrib.django.utils import connector_params
from procrastinate.exceptions import ConnectorException

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
"""Before the next try where the database is away."""

CONNECTIONS = 6
"""Of one worker at once, beside the one that hears notices."""
RECONNECT_SECONDS = 3.0
"""What one try to reach the database may take, and so how late a runner may be when it is back."""

_missed_at = time.monotonic()


def connector() -> PsycopgConnector:
    """A worker's way to the database. It does not wait longer and longer for one that is away."""
    return PsycopgConnector(
        kwargs=connector_params(),
        min_size=1,
        max_size=CONNECTIONS,
        timeout=RECONNECT_SECONDS,
        reconnect_timeout=RECONNECT_SECONDS / 2,
    )


def in_touch_for() -> float:
    """Seconds since this process last had to do without the database; since its start at the most."""
    return time.monotonic() - _missed_at


def _miss(what: str, error: Exception) -> None:
    global _missed_at
    _missed_at = time.monotonic()
    logger.warning("The database is away for %s: %s. Trying again.", what, type(error).__name__)


class Worker(worker.Worker):
    """Ends when it is cancelled and not before. Jobs are deleted when they end."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, listen_notify=False, **options)  # we do it ourselves, again and again

    async def run(self) -> None:
        global _missed_at
        _missed_at = time.monotonic()  # what happened before is not known
        await super().run()

    def _start_side_tasks(self) -> list[asyncio.Task[Any]]:
        return [*super()._start_side_tasks(), asyncio.create_task(self._listen(), name="listener")]

    async def _listen(self) -> None:
        while True:
            try:
                await self.app.job_manager.listen_for_jobs(
                    on_notification=self._handle_notification, queues=self.queues
                )
            except ConnectorException as error:
                _miss("notices of jobs", error)
            await asyncio.sleep(RETRY_SECONDS)
            self._new_job_event.set()  # notices were missed: look

    async def _update_heartbeat(self) -> None:
        while True:
            try:
                await super()._update_heartbeat()
            except ConnectorException as error:
                _miss("a sign of life", error)

    async def _periodic_deferrer(self) -> None:
        while True:
            try:
                await super()._periodic_deferrer()
            except ConnectorException as error:
                _miss("periodic jobs", error)
                # They are made on Django's connection, in asgiref's thread: what broke is not used again.
                await sync_to_async(close_old_connections)()
            await asyncio.sleep(RETRY_SECONDS)

    async def _fetch_and_process_jobs(self) -> None:
        try:
            await super()._fetch_and_process_jobs()
        except ConnectorException as error:
            _miss("taking jobs", error)
            await asyncio.sleep(RETRY_SECONDS)

    async def _persist_job_status(self, job: Any, *args: Any, **more: Any) -> None:
        """Delete the job, if it is still ours: while we were frozen, it may have been given to another."""
        while True:
            try:
                await self.app.connector.execute_query_async(
                    "DELETE FROM procrastinate_jobs WHERE id = %(id)s AND worker_id = %(worker)s"
                    " AND status = 'doing' AND attempts = %(attempts)s",
                    id=job.id,
                    worker=self.worker_id,
                    attempts=job.attempts,
                )
                break
            except ConnectorException as error:
                _miss("the end of a job", error)
                if self._stop_event.is_set():
                    raise
            await asyncio.sleep(RETRY_SECONDS)
        self._job_ids_to_abort.pop(job.id, None)
