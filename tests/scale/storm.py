"""What happens to a cluster in a storm: processes and services are killed, and come back."""

import contextlib
import random
import signal
import threading
import time
from urllib.parse import urlsplit, urlunsplit

import psutil

from tests.scale.conftest import Cluster
from tests.support import cluster
from tests.support.server import data_directory
from tests.support.services import PostgreSQL, Redis

OUTAGE = 30
"""Seconds that Redis is away once, whatever else happens meanwhile."""


class Storm:
    """A cluster on services of its own. ``log``: what was done to it."""

    def __init__(self, root, runners, **options):
        self.postgresql, self.redis, self.log = PostgreSQL(), Redis(), []
        self.postgresql.start()
        self.redis.start()
        self.cluster = Cluster(
            root,
            TEST_CLUSTER_DATABASE_URL=self.postgresql.url,
            TEST_REDIS_URL=self.redis.url,
            OH_SECRET_KEY="tests-secret-key",
            **options,
        )
        self.cluster.command += f" --runners {runners}"
        self._redis, self._away = threading.Lock(), []

    @property
    def database(self):
        """Its URL."""
        name = cluster.PREFIX + cluster.digest(str(data_directory(self.cluster.root)))
        return urlunsplit(urlsplit(self.postgresql.url)._replace(path=f"/{name}"))

    def close(self):
        self.cluster.stop(timeout=45)
        self.postgresql.remove()
        self.redis.remove()

    def rage(self, seconds, every, seed=1):
        """Disturb for ``seconds``; return with all services there.

        What is planned comes in any storm; a long one has, every so many seconds, whatever comes.
        """
        chance, calm = random.Random(seed), threading.Event()
        self._began = time.monotonic()
        planned = [
            (0.15, self.redis_is_away_for_long),
            (0.35, self.kill_runner),
            (0.55, self.postgresql_crashes),
            (0.75, self.kill_web),
        ]
        while (passed := time.monotonic() - self._began) < seconds:
            if planned and passed >= planned[0][0] * seconds:
                planned.pop(0)[1]()
            elif seconds > 2 * OUTAGE:
                chance.choice(self.deeds())()
            pause = chance.uniform(0.5, 1.5) * every
            due = planned[0][0] * seconds - passed if planned else seconds - passed
            calm.wait(max(0.1, min(pause, due)))
        for one in self._away:
            one.join()

    def deeds(self):
        return [
            *[self.kill_runner] * 4,
            self.end_runner,
            *[self.kill_web] * 2,
            self.postgresql_crashes,
            self.postgresql_restarts,
            *[self.redis_crashes] * 2,
        ]

    def _note(self, deed):
        self.log.append(f"{time.monotonic() - self._began:5.0f} s  {deed}")

    def _signal(self, command, number, deed):
        processes = self.cluster.processes(command)
        if processes:
            chosen = random.choice(processes)
            self._note(f"{deed} {chosen.pid}")
            with contextlib.suppress(psutil.NoSuchProcess):
                chosen.send_signal(number)

    def kill_runner(self):
        self._signal("run_conversations", signal.SIGKILL, "kill -9 runner")

    def end_runner(self):
        self._signal("run_conversations", signal.SIGTERM, "end runner")

    def kill_web(self):
        self._signal("serve", signal.SIGKILL, "kill -9 web process")

    def postgresql_crashes(self):
        self._note("PostgreSQL crashes and comes back")
        self.postgresql.crash()
        self.postgresql.start()

    def postgresql_restarts(self):
        self._note("PostgreSQL is restarted")
        self.postgresql.shut_down()
        self.postgresql.start()

    def redis_crashes(self):
        self.redis_is_away(2)

    def redis_is_away_for_long(self):
        self._away.append(threading.Thread(target=self.redis_is_away, args=(OUTAGE,)))
        self._away[-1].start()

    def redis_is_away(self, seconds):
        if not self._redis.acquire(blocking=False):
            return
        try:
            self._note(f"Redis is away for {seconds:.0f} s")
            self.redis.kill()
            threading.Event().wait(seconds)
            self.redis.start()
            self._note("Redis is back")
        finally:
            self._redis.release()
