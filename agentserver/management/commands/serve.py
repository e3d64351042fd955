"""`manage.py serve`: the whole server in the foreground, in one process."""

import os
import sys

import uvicorn
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from agentserver import conf

LOCAL = {"127.0.0.1", "localhost", "::1"}


class Command(BaseCommand):
    help = "Serve REST and WebSockets in the foreground; migrates by itself on SQLite."

    def add_arguments(self, parser):
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--data",
            metavar="DIR",
            help="Data directory; default OH_PERSISTENCE_DIR, else one of the platform",
        )
        parser.add_argument(
            "--insecure", action="store_true", help="Listen beyond this machine without a session key"
        )

    def handle(self, *args, host, port, insecure, **options):
        configuration = conf.current()
        if (
            host not in LOCAL
            and not configuration.session_api_keys
            and not (insecure or configuration.insecure)
        ):
            raise CommandError(
                f"Listening on {host} would let anybody who reaches it run commands here. "
                "Set OH_SESSION_API_KEYS_0 to a key, or pass --insecure."
            )
        configuration.persistence_dir.mkdir(parents=True, exist_ok=True)
        os.environ["AGENT_SERVER_PORT"] = str(port)
        if connection.vendor == "sqlite":
            call_command("migrate", verbosity=0, interactive=False)
        connection.close()
        self._greet(host, port, configuration)
        # The switch interval: threads that compute hand over sooner, so that requests are answered
        # while conversations run; measured 504 -> 110 ms p99 with 50 of them.
        sys.setswitchinterval(0.0005)
        Server(_configuration(host, port, configuration)).run()

    def _greet(self, host, port, configuration):
        address = f"http://{'127.0.0.1' if host in LOCAL else host}:{port}"
        self.stdout.write(
            f"Agent server on {address}\n"
            f"  admin       {address}/admin/\n"
            f"  API         {address}/docs\n"
            f"  data        {configuration.persistence_dir}\n"
            "Stop it with Ctrl-C."
        )
        self.stdout.flush()


def _configuration(host, port, configuration):
    return uvicorn.Config(
        "agentserver.asgi:application",
        host=host,
        port=port,
        lifespan="on",
        ws_max_size=64 * 1024 * 1024,
        # Frames are JSON on this machine or behind a proxy: compressing costs more than it saves.
        ws_per_message_deflate=False,
        ws_ping_interval=20,
        ws_ping_timeout=60,
        log_config=None,
        access_log=configuration.log_level == "DEBUG",
        # Open requests get this long at SIGTERM, so that all ends within 15 s.
        timeout_graceful_shutdown=1,
        server_header=False,
    )


class Server(uvicorn.Server):
    """Ends with code 0 on SIGTERM and SIGINT, as service managers expect."""

    def handle_exit(self, sig, frame):
        super().handle_exit(sig, frame)
        # uvicorn would raise the signal again when all has ended: exit code 143.
        self._captured_signals.clear()
