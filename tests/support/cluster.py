"""A cluster in the foreground: two web processes and two runners on PostgreSQL and Redis, behind one port.

    python -m tests.support.cluster --port 8000

Requests go to the web processes in turn. The data directory (``OH_PERSISTENCE_DIR``) names the
database: a second start finds what the first one left. A process that ends is started again.
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


def environment(directory):
    """What every process of the cluster on ``directory`` is started with."""
    name = PREFIX + hashlib.sha256(directory.encode()).hexdigest()[:16]
    return {
        **os.environ,
        "DATABASE_URL": postgres.named(name, SERVER),
        "REDIS_URL": REDIS,
        "OH_CHANNEL_PREFIX": name,
    }


async def start(arguments, given):
    return await asyncio.create_subprocess_exec(sys.executable, MANAGE, *arguments, env=given)


async def keep(arguments, given, ended):
    """Run a process of the cluster, anew when it ends, until ``ended``; then let it end."""
    ending = asyncio.create_task(ended.wait())
    while not ended.is_set():
        process = await start(arguments, given)
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


async def main(port):
    given = environment(os.environ["OH_PERSISTENCE_DIR"])
    assert await (await start(["migrate", "-v", "0"], given)).wait() == 0, "the tables cannot be made"
    ports = [free_port() for _ in range(WEBS)]
    webs = [["serve", "--no-runner", "--port", str(one)] for one in ports]
    ended = asyncio.Event()
    commands = [*webs, *[["run_conversations"]] * RUNNERS]
    kept = [asyncio.create_task(keep(arguments, given, ended), name=arguments[0]) for arguments in commands]
    turns = itertools.cycle(ports)

    async def forward(reader, writer):
        try:
            upstream, down = await asyncio.open_connection("127.0.0.1", next(turns))
        except OSError:
            writer.close()
            return
        await asyncio.gather(relay(reader, down), relay(upstream, writer))
        for one in (down, writer):
            one.close()

    listening = await asyncio.start_server(forward, "127.0.0.1", port)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await ended.wait()
    listening.close()
    await asyncio.wait(kept, timeout=40)


def drop_databases():
    """Remove what clusters left on the PostgreSQL server."""
    with psycopg.connect(SERVER, autocommit=True) as connection:
        found = connection.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [PREFIX])
        for (name,) in found.fetchall():
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    asyncio.run(main(parser.parse_args().port))
