"""Files over HTTP: upload, download, directories."""

from django.utils.http import parse_header_parameters
from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver import api
from agentserver.errors import invalid
from agentserver.workspace import files, serving, uploads
from agentserver.workspace.scopes import Reach
from agentserver.workspace.views.parameters import required


class UploadView(APIView):
    """POST ?path=: the form field ``file`` becomes the content of ``path``."""

    streams_body = True
    waits = True

    def post(self, request, conversation_id=None):
        path = required(request, "path")
        target = Reach(request, conversation_id).path(path)
        body = request._request
        size = uploads.receive(body=body, boundary=_boundary(body), target=target)
        return Response({"success": True, "file_size": size})


def _boundary(request) -> bytes:
    kind, parameters = parse_header_parameters(request.headers.get("Content-Type", ""))
    boundary = parameters.get("boundary", "")
    if kind != "multipart/form-data" or not boundary or not boundary.isascii():
        raise invalid(["body", "file"], "Field required", "missing")
    return boundary.encode()


class DownloadView(APIView):
    """GET and HEAD ?path=: the file as an attachment, whole or in part."""

    def get(self, request, conversation_id=None):
        text = required(request, "path")
        reach = Reach(request, conversation_id)
        path = reach.path(text)
        file = serving.open_file(path, reach.root)
        return serving.answer(
            request._request,
            file,
            content_type="application/octet-stream",
            headers=serving.attachment(path.name),
        )


class CreateDirectoryView(APIView):
    """POST ?path=: the directory is there afterwards."""

    def post(self, request, conversation_id=None):
        text = required(request, "path")
        files.create_directory(Reach(request, conversation_id).path(text))
        return Response({"success": True})


class HomeView(APIView):
    """GET: the home directory, the directories in it, and the places to start browsing at."""

    def get(self, request):
        home, names = files.home(include_hidden=api.flag(request, "include_hidden"))
        favorites = [{"label": name, "path": f"{home}/{name}"} for name in names]
        return Response({"home": home, "favorites": favorites, "locations": [{"label": "/", "path": "/"}]})


class SubdirectoriesView(APIView):
    """GET ?path=: a page of the directories in ``path``, by name."""

    def get(self, request):
        path = Reach(request).path(required(request, "path"))
        page = files.subdirectories(
            path=path,
            include_hidden=api.flag(request, "include_hidden"),
            limit=api.limit_of(request),
            start=request.query_params.get("page_id") or None,
        )
        items = [{"name": name, "path": str(path / name)} for name in page.names]
        return Response({"items": items, "next_page_id": page.next_name})
