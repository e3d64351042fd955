"""The front door's own routes: the workspace cookie, deferred initialisation, the cloud proxy."""

from django.http import HttpResponse
from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver import conf
from agentserver.api import parse
from agentserver.auth import cloud_proxy, initialization, keys, workspace_cookie
from agentserver.errors import NotFound, Problem
from agentserver.front import origins


class WorkspaceSessionView(APIView):
    """POST: the cookie that shows workspace files in frames. DELETE: the browser drops it."""

    def post(self, request):
        given = keys.given_in(request.scope["headers"])
        return _with_cookie(request, workspace_cookie.value_for(request.principal, given))

    def delete(self, request):
        return _with_cookie(request, "")


def _with_cookie(request, value: str) -> HttpResponse:
    response = Response(status=204)
    host = request.META.get("HTTP_HOST", "").rsplit(":", 1)[0].strip("[]").lower()
    secure = request.scope["scheme"] == "https" or _forwarded_https(request) or host in origins.LOOPBACK
    # As a header: Django's cookies do not know Partitioned.
    response["Set-Cookie"] = workspace_cookie.written(value, secure=secure)
    return response


def _forwarded_https(request) -> bool:
    return request.META.get("HTTP_X_FORWARDED_PROTO", "").split(",")[0].strip().lower() == "https"


class InitView(APIView):
    """GET: whether the server waits for its configuration. POST: give it, once. Else 404."""

    def initial(self, request, *args, **kwargs):
        super().initial(request, *args, **kwargs)
        if not conf.current().deferred_init:
            raise NotFound()

    def get(self, request):
        return Response(initialization.status().model_dump())

    def post(self, request):
        wanted = parse(request, initialization.InitRequest)
        if not initialization.initialize(wanted):
            raise Problem("The server is configured already. Restart it to configure it anew.")
        return Response(initialization.status().model_dump())


class CloudProxyView(APIView):
    """POST: one request to a cloud API on behalf of a browser that may not call it (CORS)."""

    waits = True

    def post(self, request):
        wanted = parse(request, cloud_proxy.CloudProxyRequest)
        answer = cloud_proxy.forward(wanted)
        response = HttpResponse(answer.content, status=answer.status, content_type=answer.content_type)
        response._has_been_logged = True
        return response
