"""`manage.py run_conversations`: a runner process of the engine, in the foreground."""

import asyncio
import contextlib
import os
import signal

from django.core.management.base import BaseCommand, CommandError

from agentserver import conf, environment, lifespan, migrating, threads, writer
from agentserver.live import hub
from agentserver.observability import exposing, reports, tracing
from agentserver.places import answering
from agentserver.webhooks import lifecycle as webhooks


class Command(BaseCommand):
    help = "Run conversations for the web processes on the same PostgreSQL and Redis, until SIGTERM."
    requires_system_checks = []

    def add_arguments(self, parser):
        parser.add_argument("--concurrency", type=int, help="Runs at once; default OH_MAX_CONCURRENT_RUNS")

        parser.add_argument("--queue", help="The queue to take from; default OH_QUEUE")

    def handle(self, *args, concurrency, queue, **options):
        if concurrency is not None:
            os.environ["OH_MAX_CONCURRENT_RUNS"] = str(concurrency)
        if queue is not None:
            os.environ["OH_QUEUE"] = queue
        conf.current.cache_clear()
        try:
            if not conf.current().engine:
                raise CommandError(
                    "Runners need an engine: set DATABASE_URL to a PostgreSQL database, and REDIS_URL. "
                    "Without them `manage.py serve` runs conversations itself."
                )
            migrating.migrate_if_needed()
            asyncio.run(_run(self.stdout))
        except conf.ConfigurationError as error:
            raise CommandError(str(error)) from None


async def _run(out) -> None:
    from conversations import recovery, runner

    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    reports.start(conf.current())
    tracing.start(conf.current())
    exposing.start(conf.current())
    environment.withdraw()
    hub.bind(asyncio.get_running_loop())
    writer.current().start()
    await webhooks.start()  # who rings posts: what happens here is heard here first
    await answering.start(runner.NAME)
    await recovery.start_runner()
    out.write(f"Runner {runner.NAME} takes up to {runner.current().lanes.limit} runs at once.")
    await ended.wait()
    out.write("Ending: runs finish their step and are handed over.")
    await answering.stop(runner.NAME)
    await recovery.stop_runner(conf.current().drain_seconds)
    await webhooks.stop()
    await lifespan.end_tasks()
    await hub.unbind()
    await asyncio.get_running_loop().run_in_executor(None, writer.current().close)
    await asyncio.get_running_loop().run_in_executor(None, lifespan.hand_over)
    threads.shutdown()
    with contextlib.suppress(ValueError):
        out.flush()
    os._exit(0)  # a tool that ignores its end would keep the interpreter; all that matters is in the rows
