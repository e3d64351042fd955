"""A runner that was frozen while its job was given to another leaves that job alone."""

import subprocess
import sys

import pytest

from tests.engines.test_other_engines import ROOT
from tests.support import cluster

CODE = """
import asyncio
from procrastinate.contrib.django import app
from conversations import jobs

QUEUE = ["of-the-test"]

async def main():
    async with app.with_connector(jobs.connector()).open_async() as working:
        manager, frozen, other = working.job_manager, jobs.Worker(working), jobs.Worker(working)
        for worker in (frozen, other):
            worker.worker_id = await manager.register_worker()
        await working.configure_task("nothing", queue=QUEUE[0], allow_unknown=True).defer_async()
        job = await manager.fetch_job(queues=QUEUE, worker_id=frozen.worker_id)
        await manager.retry_job(job)
        again = await manager.fetch_job(queues=QUEUE, worker_id=other.worker_id)
        assert again.id == job.id
        await frozen._persist_job_status(job)
        print(len(list(await manager.list_jobs_async(queue=QUEUE[0]))))
        await other._persist_job_status(again)
        print(len(list(await manager.list_jobs_async(queue=QUEUE[0]))))

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_job_is_ended_by_the_runner_it_was_given_to_last(scaled, services):
    given = scaled.environment()
    run = subprocess.run(
        [sys.executable, ROOT / "manage.py", "shell", "-v", "0", "-c", CODE],
        env={**given, **cluster.environment(given["OH_PERSISTENCE_DIR"], services)},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert run.stdout.split() == ["1", "0"], run.stderr
