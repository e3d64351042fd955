"""Web files at ``/static/``: those of ``OH_STATIC_FILES_PATH`` first, then the server's own pages'."""

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.contrib.staticfiles.views import serve
from django.core.exceptions import SuspiciousFileOperation
from django.http import Http404


class WebFiles(ASGIStaticFilesHandler):
    """Wraps ``application``. Django looks in the folder of ``STATICFILES_DIRS``, then in its apps."""

    def get_base_url(self) -> str:
        return "/static/"  # what arrives here; links to it may have OH_WEB_URL's path before it

    def serve(self, request):
        try:
            return serve(request, self.file_path(request.path), insecure=True)
        except (SuspiciousFileOperation, ValueError):
            raise Http404 from None  # a path that leads out, or that no file system takes
