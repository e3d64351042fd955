"""Is it alive, is it ready, what is it: the routes that need no key."""

import functools
import sys
import time
from importlib import metadata
from typing import Any

from django.http import HttpResponseRedirect
from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver import activity, api, conf, lifespan, sdk
from agentserver.capabilities import CAPABILITIES
from agentserver.front import prefix
from agentserver.observability import health

PROTOCOL_VERSION = "1.58.2"
"""What clients compare with their own needs: they refuse what is not x.y.z and at least 1.28.0."""


class AliveView(APIView):
    """GET: 200 as soon as the process answers."""

    def get(self, request):
        return Response({"status": "ok"})


class HealthView(APIView):
    """GET: 200 once all of the server is there; clients wait for it before they use the server."""

    def get(self, request):
        missing = lifespan.waiting_for() + ([] if sdk.ready() else ["agent SDK"])
        if missing:
            return _not_ready("initializing", f"Waiting for: {', '.join(missing)}")
        return Response({"status": "ok"})


class ReadyView(APIView):
    """GET: 200 when conversations can run, else 503 with what is missing.

    ``?verbose=true``, and any 503, tells each part's state and how many milliseconds it took to ask.
    """

    def get(self, request):
        parts = health.parts()
        shown = [part.shown() for part in parts]
        unwell = [part for part in parts if not part.ok]
        if not unwell:
            more = {"parts": shown} if api.flag(request, "verbose") else {}
            return Response({"status": "ready"} | more)
        starting = unwell[0].name == "runner"
        sentence = " ".join(part.detail for part in unwell)
        return _not_ready("initializing" if starting else "unavailable", sentence, parts=shown)


def _not_ready(status: str, sentence: str, **more: Any) -> Response:
    response = Response({"status": status, "message": sentence, **more}, status=503)
    response._has_been_logged = True  # Django would log an error for every poll
    return response


class RootView(APIView):
    """GET: the web files, where there are some; browsers see the dashboard, clients ``/server_info``."""

    def get(self, request):
        folder = conf.current().static_files_path
        if folder is not None and folder.is_dir():
            return HttpResponseRedirect(f"{prefix.path()}/static/index.html")
        if "text/html" in request.headers.get("Accept", ""):
            return HttpResponseRedirect(f"{prefix.path()}/dashboard/")
        return Response(_info(), headers={"Vary": "Accept"})


class ServerInfoView(APIView):
    """GET: versions, times and abilities."""

    def get(self, request):
        return Response(_info())


def _info() -> dict[str, Any]:
    now = time.monotonic()
    return {
        "uptime": round(now - lifespan.started_at, 3),
        "idle_time": round(activity.idle_seconds(), 3),
        "title": "OpenHands Agent Server",
        "version": PROTOCOL_VERSION,
        "implementation": "agentserver (Django)",
        "implementation_version": "0.1.0",
        "sdk_version": _version("openhands-sdk"),
        "tools_version": _version("openhands-tools"),
        "workspace_version": "unknown",
        "build_git_sha": "unknown",
        "build_git_ref": "unknown",
        "python_version": sys.version,
        "usable_tools": _usable_tools(),
        "runtime_idle_timeout_seconds": None,
        "conversation_runtime": "local",
        "available_conversation_runtimes": [],
        "capabilities": list(CAPABILITIES),
        "app_backend_ingress_url": None,
        "max_foreground_terminal_timeout_seconds": None,
        "docs": f"{prefix.path()}/docs",
        "redoc": f"{prefix.path()}/redoc",
    }


@functools.cache
def _version(name: str) -> str:
    return metadata.version(name)


def _usable_tools() -> list[str]:
    if not sdk.ready():
        return []
    sdk.require()
    from openhands.sdk.tool import is_tool_usable, list_registered_tools

    return [name for name in list_registered_tools() if is_tool_usable(name)]
