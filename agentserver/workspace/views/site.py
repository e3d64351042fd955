"""A conversation's workspace over HTTP, as a web site."""

from rest_framework.views import APIView

from agentserver.workspace import scopes, serving, site


class SiteView(APIView):
    """GET and HEAD: the file as a browser shows it."""

    def get(self, request, conversation_id, name=None):
        root = scopes.workspace_of(request, conversation_id)
        file, kind = site.open_page(root, name or "")
        # A type that is guessed by the browser could turn an upload into a page.
        headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}
        return serving.answer(request._request, file, content_type=kind, headers=headers)
