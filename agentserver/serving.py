"""`manage.py serve`: listen at once, import Django behind it, then hand over. One process, foreground."""

import argparse
import atexit
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

import uvicorn

from agentserver import conf
from agentserver.front import origins
from agentserver.front.starting import Starting

LINGER_SECONDS = 1.5
"""What threads may take to end by themselves after the server has; the promise is 15 s for all."""
LOCAL = {"127.0.0.1", "localhost", "::1"}
EVERYWHERE = {"0.0.0.0", "::", ""}  # noqa: S104  (compared with, not bound)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="Data directory; default OH_PERSISTENCE_DIR, else one of the platform",
    )
    parser.add_argument(
        "--no-runner", action="store_true", help="Leave conversations to `manage.py run_conversations`"
    )
    parser.add_argument(
        "--insecure", action="store_true", help="Listen beyond this machine without a session key"
    )


def main(arguments: Sequence[str]) -> bool:
    """Serve as the command line says; False if it holds options that only Django's own parser knows."""
    parser = argparse.ArgumentParser(prog="manage.py serve", add_help=False)
    add_arguments(parser)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        return False
    serve(host=options.host, port=options.port, insecure=options.insecure, no_runner=options.no_runner)
    return True


def serve(*, host: str, port: int, insecure: bool, no_runner: bool = False) -> None:
    """Serve until a signal. Raises ConfigurationError for what must not or cannot be served."""
    configuration = conf.current()
    _refuse_strangers(host, insecure or configuration.insecure)
    if no_runner:
        _leave_running_to_others()
    origins.pattern()
    configuration.persistence_dir.mkdir(parents=True, exist_ok=True)
    # Where this process is reached by itself: the demo model, and the SDK.
    os.environ["AGENT_SERVER_PORT"] = str(port)
    os.environ["AGENT_SERVER_HOST"] = (
        "127.0.0.1" if host in EVERYWHERE else f"[{host}]" if ":" in host else host
    )
    # The switch interval: threads that compute hand over sooner, so that requests are answered
    # while conversations run; measured 504 -> 110 ms p99 with 50 of them.
    sys.setswitchinterval(0.0005)
    _greet(host, port)
    server = Server(_options(host, port))
    # Registered before the heavy modules are imported, so called after all that they register.
    atexit.register(_leave, server)
    server.run()
    if (error := server.starting.error) is not None:
        raise error
    server.ended_well = True


def _leave(server: "Server") -> None:
    """End the process without taking the interpreter apart: with the SDK, that is seconds of CPU."""
    with contextlib.suppress(OSError):
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0 if server.ended_well else 1)


def _refuse_strangers(host: str, insecure: bool) -> None:
    configuration = conf.current()
    # A dormant server's key is what it was started with: nobody else can configure it.
    keyed = configuration.session_api_keys or (configuration.deferred_init and configuration.secret_key)
    if host not in LOCAL and not keyed and not insecure:
        raise conf.ConfigurationError(
            f"Listening on {host} would let anybody who reaches it run commands here. "
            "Set OH_SESSION_API_KEYS_0 to a key, or pass --insecure."
        )


def _leave_running_to_others() -> None:
    if not conf.current().engine:
        raise conf.ConfigurationError(
            "--no-runner needs runners that this process can reach. "
            "Set DATABASE_URL to a PostgreSQL database and REDIS_URL, or leave --no-runner out."
        )
    os.environ["OH_RUNS_CONVERSATIONS"] = "false"
    conf.current.cache_clear()


def _greet(host: str, port: int) -> None:
    address = f"http://{'127.0.0.1' if host in LOCAL else host}:{port}"
    with contextlib.suppress(OSError):  # a log on a full disk keeps nobody from serving
        sys.stdout.write(
            f"Agent server on {address}\n"
            f"  dashboard   {address}/\n"
            f"  admin       {address}/admin/\n"
            f"  API         {address}/docs\n"
            f"  data        {conf.current().persistence_dir}\n"
            "Stop it with Ctrl-C.\n"
        )
        sys.stdout.flush()


class Server(uvicorn.Server):
    """Ends with code 0 on SIGTERM and SIGINT, as service managers expect."""

    ended_well = False

    def __init__(self, options: dict[str, Any]):
        self.starting = Starting(_load, self._give_up)
        super().__init__(uvicorn.Config(self.starting, **options))

    async def shutdown(self, sockets=None):
        await super().shutdown(sockets)
        # All that matters has ended and is on disk. A thread that is still importing, or a tool that
        # ignores its end, would keep the interpreter; nobody is waiting for them.
        ending = threading.Timer(LINGER_SECONDS, os._exit, [0 if self.starting.error is None else 1])
        ending.daemon = True
        ending.start()

    def _give_up(self) -> None:
        self.should_exit = True

    def handle_exit(self, sig, frame):
        super().handle_exit(sig, frame)
        # uvicorn would raise the signal again when all has ended: exit code 143.
        self._captured_signals.clear()


def _load() -> Any:
    """The application, with its tables in order. Takes seconds; on a thread."""
    from agentserver import asgi, migrating

    migrating.migrate_if_needed()
    return asgi.application


def _options(host: str, port: int) -> dict[str, Any]:
    return {
        "host": host,
        "port": port,
        "lifespan": "on",
        "ws_max_size": 64 * 1024 * 1024,
        # Frames are JSON on this machine or behind a proxy: compressing costs more than it saves.
        "ws_per_message_deflate": False,
        "ws_ping_interval": 20,
        "ws_ping_timeout": 60,
        "log_config": None,
        "access_log": False,  # observability.requests writes one, with ids and without keys
        # Open requests get this long at SIGTERM, so that all ends within 15 s.
        "timeout_graceful_shutdown": 1,
        "server_header": False,
    }
