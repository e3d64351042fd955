"""``/openapi.json``, made once, and the pages that show it; their scripts come from this server."""

import functools
import threading

from django.http import HttpResponse
from drf_spectacular.views import SpectacularRedocView, SpectacularSwaggerView
from rest_framework.renderers import TemplateHTMLRenderer
from rest_framework.views import APIView

from agentserver.api import dumps
from agentserver.front import prefix
from agentserver.openapi.generator import Generator

_lock = threading.Lock()


class OpenAPIView(APIView):
    """GET: the OpenAPI document. The first call makes it, once the agent SDK is there."""

    waits = True

    def get(self, request):
        return HttpResponse(_made_once(), content_type="application/json")


class SwaggerView(SpectacularSwaggerView):
    """GET: the document as pages to try things in."""

    url = f"{prefix.path()}/openapi.json"
    renderer_classes = [TemplateHTMLRenderer]


class RedocView(SpectacularRedocView):
    """GET: the document as pages to read."""

    url = f"{prefix.path()}/openapi.json"
    renderer_classes = [TemplateHTMLRenderer]


def _made_once() -> bytes:
    with _lock:
        return _made()


@functools.cache
def _made() -> bytes:
    return dumps(Generator().get_schema(public=True))
