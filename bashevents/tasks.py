"""The engine's job for bash events. Imported only where it is installed: on PostgreSQL with Redis."""

import datetime

from django.utils import timezone
from procrastinate.contrib.django import app

from agentserver import conf, threads
from bashevents.retention import Pruning


@app.periodic(cron="* * * * *")  # each minute
@app.task(name="prune-bash-events", queue=conf.HOUSE_QUEUE, queueing_lock="prune-bash-events")
async def prune_bash_events(timestamp: int) -> None:
    """The server's own pruning, once for all its processes."""
    if (retention := conf.current().bash_events_retention_seconds) is not None:
        cutoff = timezone.now() - datetime.timedelta(seconds=retention)
        await threads.run_in(threads.waiting(), Pruning(cutoff).run)
