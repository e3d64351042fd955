"""A cluster in the foreground: two web processes and two runners on PostgreSQL and Redis, behind one port.

    python -m tests.support.cluster --port 8000

Requests go to the web processes in turn, past those that are away. The data directory
(``OH_PERSISTENCE_DIR``) names the database: a second start finds what the first one left. A process that
ends is started again.
``TEST_CLUSTER_DATABASE_URL`` and ``TEST_REDIS_URL`` say where the services are. SIGTERM ends all.
"""

import argparse
import asyncio
import contextlib
import hashlib
import itertools
import os
import signal
import sys
from pathlib import Path

import psycopg
from psycopg import sql

from tests.support import postgres
from tests.support.waiting import free_port

MANAGE = str(Path(__file__).resolve().parents[2] / "manage.py")
WEBS, RUNNERS = 2, 2
SERVER = os.environ.get("TEST_CLUSTER_DATABASE_URL", "postgres://postgres:postgres@127.0.0.1:5432/postgres")
REDIS = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/14")
PREFIX = "cluster_"


def digest(directory):
    return hashlib.sha256(directory.encode()).hexdigest()[:16]


def environment(directory, services):
    """What the processes of the cluster on ``directory`` are started with, beside what they inherit."""
    name = PREFIX + digest(directory)
    return {
        "DATABASE_URL": postgres.named(name, services["TEST_CLUSTER_DATABASE_URL"]),
        "REDIS_URL": services["TEST_REDIS_URL"],
        "OH_CHANNEL_PREFIX": name,
    }


async def start(arguments, given, directory=None):
    return await asyncio.create_subprocess_exec(sys.executable, MANAGE, *arguments, env=given, cwd=directory)


async def keep(arguments, given, ended, directory=None):
    """Run a process of the cluster, anew when it ends, until ``ended``; then let it end."""
    ending = asyncio.create_task(ended.wait())
    while not ended.is_set():
        process = await start(arguments, given, directory)
        gone = asyncio.create_task(process.wait())
        await asyncio.wait({gone, ending}, return_when=asyncio.FIRST_COMPLETED)
        if ended.is_set():
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        await gone


async def relay(reader, writer):
    with contextlib.suppress(OSError, asyncio.CancelledError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError, RuntimeError):
        writer.write_eof() if writer.can_write_eof() else writer.close()


async def connected(turns):
    """A connection to the next web process that takes one; None if none does."""
    for _ in range(WEBS):
        with contextlib.suppress(OSError):
            return await asyncio.open_connection("127.0.0.1", next(turns))
    return None


def disks(root, count):
    """Name and directory of each runner's own disk."""
    return [(f"disk-{number}", Path(root) / f"disk-{number}") for number in range(count)]


def runner_on(queue, directory, given):
    """Environment and directory of a runner with a disk of its own: ``/proc/self/cwd`` is another in each."""
    directory.mkdir(parents=True, exist_ok=True)
    address = f"http://127.0.0.1:{free_port()}"
    return {**given, "OH_QUEUE": queue, "OH_RUNNER_ADDRESS": address}, directory


async def main(port, runners, own_disks):
    services = {"TEST_CLUSTER_DATABASE_URL": SERVER, "TEST_REDIS_URL": REDIS}
    given = {**os.environ, **environment(os.environ["OH_PERSISTENCE_DIR"], services)}
    assert await (await start(["migrate", "-v", "0"], given)).wait() == 0, "the tables cannot be made"
    ports = [free_port() for _ in range(WEBS)]
    webs = [["serve", "--no-runner", "--port", str(one)] for one in ports]
    ended = asyncio.Event()
    places = [(given, None)] * runners
    if own_disks:
        places = [runner_on(*disk, given) for disk in disks(own_disks, runners)]
        given = {**given, "OH_QUEUE": ",".join(queue for queue, _ in disks(own_disks, runners))}
    starts = [(web, given, None) for web in webs]
    starts += [(["run_conversations"], *place) for place in places]
    kept = [asyncio.create_task(keep(words, given, ended, place)) for words, given, place in starts]
    turns = itertools.cycle(ports)

    async def forward(reader, writer):
        connection = await connected(turns)
        if connection is None:
            writer.close()
            return
        upstream, down = connection
        await asyncio.gather(relay(reader, down), relay(upstream, writer))
        for one in (down, writer):
            one.close()

    listening = await asyncio.start_server(forward, "127.0.0.1", port)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await ended.wait()
    listening.close()
    await asyncio.wait(kept, timeout=40)


def drop_database(directory, server):
    """Remove what a cluster on ``directory`` left on the PostgreSQL at the URL ``server``."""
    name = sql.Identifier(PREFIX + digest(directory))
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--runners", type=int, default=RUNNERS)
    parser.add_argument("--own-disks", metavar="DIR", help="each runner has a disk, here: a directory in DIR")
    options = parser.parse_args()
    asyncio.run(main(options.port, options.runners, options.own_disks))
