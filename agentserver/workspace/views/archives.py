"""Archives over HTTP: a directory as tar.gz, or the work in it as a patch."""

from rest_framework.views import APIView

from agentserver import api
from agentserver.workspace import excludes, patches, serving, steps, tars
from agentserver.workspace.paths import Missing, NotADirectory
from agentserver.workspace.scopes import Reach
from agentserver.workspace.views.parameters import required


class ArchiveView(APIView):
    """GET ?path=(&format=git-delta|tar.gz)(&base_ref=)(&use_default_excludes=)(&exclude= ...)."""

    waits = True

    def get(self, request, conversation_id=None):
        path = Reach(request, conversation_id).path(required(request, "path")).resolve()
        form = api.choice(request, "format", {"git-delta", "tar.gz"}, "git-delta")
        patterns = [p for p in request.query_params.getlist("exclude") if p.strip("/")]
        if api.flag(request, "use_default_excludes", True):
            patterns = [*excludes.DEFAULT, *patterns]
        _check_directory(path)
        return self._patch(path, patterns) if form == "git-delta" else self._tar(path, patterns)

    def _patch(self, path, patterns):
        base = patches.base_of(path, self.request.query_params.get("base_ref"))
        return serving.answer(
            self.request._request,
            patches.patch(path, base, patterns),
            content_type="text/x-patch; charset=utf-8",
            headers={**patches.headers(path, base), **serving.attachment(f"{path.name}.patch")},
        )

    def _tar(self, path, patterns):
        return steps.answer(
            self.request._request,
            tars.tar_gz(path, patterns),
            content_type="application/gzip",
            headers={**patches.headers(path, None), **serving.attachment(f"{path.name or 'root'}.tar.gz")},
        )


def _check_directory(path):
    if not path.exists():
        raise Missing()
    if not path.is_dir():
        raise NotADirectory()
