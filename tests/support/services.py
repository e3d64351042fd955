"""A PostgreSQL and a Redis of a test's own, which it may kill and start again."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import psycopg

from tests.support.waiting import free_port, wait_until

READY_SECONDS = 60
ACCOUNT = "postgres"
"""Who runs PostgreSQL where the tests run as root, which it refuses."""


def postgresql_programs():
    """The directory with ``initdb`` and ``postgres``; None where there is none."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    return next(
        (place for place in places if (place / "initdb").exists()), Path(found).parent if found else None
    )


def missing():
    """What these services lack here; "" if nothing."""
    if postgresql_programs() is None:
        return "needs PostgreSQL's initdb and postgres"
    if shutil.which("redis-server") is None:
        return "needs redis-server"
    if os.geteuid() == 0 and ACCOUNT not in [entry.pw_name for entry in pwd.getpwall()]:
        return f"needs an account {ACCOUNT}: PostgreSQL does not run as root"
    return ""


class Service:
    """A process in a directory of its own. ``kill`` and ``start`` it as often as you like."""

    def __init__(self, prefix):
        # Not below pytest's directory, which another account cannot enter.
        self.directory, self.port, self.process = Path(tempfile.mkdtemp(prefix=prefix)), free_port(), None
        self.account = {"user": ACCOUNT, "group": ACCOUNT, "extra_groups": []} if os.geteuid() == 0 else {}

    command: list

    def answers(self):
        raise NotImplementedError

    def start(self):
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.directory,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                **self.account,
            )
        wait_until(self._ready, READY_SECONDS, message=f"{self.command[0]}, see {self.directory}/log")

    def _ready(self):
        assert self.process.poll() is None, (self.directory / "log").read_text()[-2000:]
        return self.answers()

    def kill(self, number=signal.SIGKILL):
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(READY_SECONDS)

    def remove(self):
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


class Redis(Service):
    def __init__(self):
        super().__init__("redis-")
        if self.account:
            shutil.chown(self.directory, ACCOUNT, ACCOUNT)
        self.url = f"redis://127.0.0.1:{self.port}/0"
        kept = ["--save", "", "--appendonly", "no"]
        self.command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", *kept]

    def answers(self):
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), 1) as connection,
        ):
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")


class PostgreSQL(Service):
    def __init__(self):
        super().__init__("postgresql-")
        if self.account:
            shutil.chown(self.directory, ACCOUNT, ACCOUNT)
        programs, data = postgresql_programs(), self.directory / "data"
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8"],
            check=True,
            capture_output=True,
            **self.account,
        )
        # Processes are killed here, not machines: what the kernel has is safe.
        options = ["fsync=off", "max_connections=500", "listen_addresses=127.0.0.1", f"port={self.port}"]
        options.append(f"unix_socket_directories={self.directory}")
        self.command = [str(programs / "postgres"), "-D", str(data)]
        self.command += [part for option in options for part in ("-c", option)]
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def answers(self):
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self.url, connect_timeout=2):
            return True

    def crash(self):
        """All its processes end at once, nothing is written down in order."""
        self.kill(signal.SIGQUIT)

    def shut_down(self):
        """It ends in order: transactions are undone, connections closed."""
        self.kill(signal.SIGINT)
