"""/api/canvas-extensions and /app-backends: code for a web UI, which this server does not host.

Clients tolerate that: their lists are empty, and installing says why.
"""

from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver.errors import NotFound, Problem


class NotOffered(Problem):
    code = "not_offered"
    sentence = "This server does not host extensions of the canvas. Install them where the canvas is served."


class NoSuchExtension(NotFound):
    sentence = "No canvas extension of this name is installed."


class CanvasExtensionsView(APIView):
    """GET: none."""

    def get(self, request):
        return Response({"canvas_extensions": []})


class InstallCanvasExtensionView(APIView):
    """POST: refused."""

    def post(self, request):
        raise NotOffered()


class CanvasExtensionView(APIView):
    """Anything about one extension: there is none."""

    def get(self, request, name, rest=None):
        raise NoSuchExtension()

    post = patch = delete = get


class AppBackendSessionView(APIView):
    """POST: no extension, so no backend. DELETE: there is nothing to end."""

    def post(self, request, name):
        raise NoSuchExtension()

    def delete(self, request, name):
        return Response(status=204)
