"""Is it alive, is it ready, what is it: the routes that need no key."""

import sys
import time
from importlib import metadata

from django.db import connection
from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver import activity, lifespan, sdk

PROTOCOL_VERSION = "1.58.2"
"""What clients compare with their own needs: they refuse what is not x.y.z and at least 1.28.0."""


class AliveView(APIView):
    """GET: 200 as soon as the process answers."""

    def get(self, request):
        return Response({"status": "ok"})


class HealthView(APIView):
    """GET: 200; the string is what the reference's clients read."""

    def get(self, request):
        return Response({"status": "ok"})


class ReadyView(APIView):
    """GET: 200 when conversations can run, else 503 with what is missing."""

    def get(self, request):
        missing = lifespan.waiting_for()
        if not sdk.ready():
            missing.append(
                "agent SDK" if sdk.failure() is None else "agent SDK (its import failed, see the log)"
            )
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
        except Exception:
            missing.append("database")
        if missing:
            return Response(
                {"status": "initializing", "message": f"Waiting for: {', '.join(missing)}"}, status=503
            )
        return Response({"status": "ready"})


class ServerInfoView(APIView):
    """GET: versions, times and abilities."""

    def get(self, request):
        now = time.monotonic()
        return Response(
            {
                "uptime": round(now - lifespan.started_at, 3),
                "idle_time": round(activity.idle_seconds(), 3),
                "title": "OpenHands Agent Server",
                "version": PROTOCOL_VERSION,
                "implementation": "agentserver (Django)",
                "implementation_version": "0.1.0",
                "sdk_version": metadata.version("openhands-sdk"),
                "tools_version": metadata.version("openhands-tools"),
                "workspace_version": "unknown",
                "build_git_sha": "unknown",
                "build_git_ref": "unknown",
                "python_version": sys.version,
                "usable_tools": _usable_tools(),
                "runtime_idle_timeout_seconds": None,
                "conversation_runtime": "local",
                "available_conversation_runtimes": [],
                "capabilities": [
                    "conversation_runtime_routes_v1",
                    "idempotent_conversation_create_v1",
                ],
                "app_backend_ingress_url": None,
                "max_foreground_terminal_timeout_seconds": None,
                "docs": "/docs",
                "redoc": "/redoc",
            }
        )


def _usable_tools() -> list[str]:
    if not sdk.ready():
        return []
    from openhands.sdk.tool import is_tool_usable, list_registered_tools

    return [name for name in list_registered_tools() if is_tool_usable(name)]
