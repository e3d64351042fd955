"""Editor and desktop over HTTP: where they are, if they are."""

from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver.errors import NotFound
from agentserver.workspace import editor, scopes


class EditorStatusView(APIView):
    """GET: whether an editor runs, and why not."""

    def get(self, request, conversation_id=None):
        if conversation_id:
            scopes.workspace_of(request, conversation_id)
        return Response(editor.status())


class EditorUrlView(APIView):
    """GET (?base_url=)(&workspace_dir=): the editor's address; null where none is installed."""

    waits = True

    def get(self, request, conversation_id=None):
        directory = request.query_params.get("workspace_dir")
        if conversation_id:
            root = scopes.workspace_of(request, conversation_id)
            directory = str(scopes.Reach(request, conversation_id).path(directory) if directory else root)
        return Response({"url": editor.url(request.query_params.get("base_url"), directory or "workspace")})


class DesktopUrlView(APIView):
    """GET: 404. Older servers had one; clients still ask."""

    def get(self, request):
        raise NotFound("This server offers no desktop.")
