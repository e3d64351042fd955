"""Git over HTTP: changes, diffs, commits, and the repositories of hosting services."""

import re
from dataclasses import asdict

from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver import api
from agentserver.configuration import owners
from agentserver.errors import Problem, invalid
from agentserver.workspace import changes, diffs, history, hosting
from agentserver.workspace.scopes import Reach
from agentserver.workspace.views.parameters import required

_SHA = re.compile(r"[0-9a-fA-F]{4,64}")


class Both(Problem):
    code, sentence = "commit_and_ref", "Give either commit or ref, not both."


class GitView(APIView):
    """What these views share: a path in the caller's reach."""

    waits = True

    def path(self, conversation_id):
        text = required(self.request, "path")
        return Reach(self.request, conversation_id).path(text, relative=True)


def _sha(text: str, where: str) -> str:
    if not _SHA.fullmatch(text):
        raise invalid([where, "sha"], "Input should be 4 to 64 hexadecimal digits", "string_pattern_mismatch")
    return text


def _listed(found: changes.Changes) -> Response:
    return Response([{"status": status, "path": path} for path, status in found.items()])


class ChangesView(GitView):
    """GET ?path=(&ref=): files that are new, different or gone."""

    def get(self, request, conversation_id=None):
        path = self.path(conversation_id)
        return _listed(changes.of_directory(path, request.query_params.get("ref")))


class DiffView(GitView):
    """GET ?path=(&ref= or &commit=): one file before and after."""

    def get(self, request, conversation_id=None):
        path = self.path(conversation_id)
        ref, commit = request.query_params.get("ref"), request.query_params.get("commit")
        if commit is None:
            return Response(asdict(diffs.of_file(path, ref)))
        sha = _sha(commit, "query")
        if ref is not None:
            raise Both()
        return Response(asdict(diffs.of_commit(path, sha)))


class CommitsView(GitView):
    """GET ?path=(&limit=): the newest commits."""

    def get(self, request, conversation_id=None):
        path = self.path(conversation_id)
        found, more = history.commits(path, api.integer(request, "limit", 50, 1, 200))
        return Response({"commits": [asdict(commit) for commit in found], "has_more": more})


class CommitChangesView(GitView):
    """GET ?path=: the files that one commit changed."""

    def get(self, request, sha, conversation_id=None):
        path = self.path(conversation_id)
        return _listed(changes.of_commit(path, _sha(sha, "path")))


class RepositoriesView(APIView):
    """GET ?provider=(&query=)(&limit=)(&page_id=): the user's repositories at a hosting service."""

    waits = True

    def get(self, request):
        required(request, "provider")
        query = hosting.Query(
            text=(request.query_params.get("query") or "").strip(),
            limit=api.limit_of(request),
            page=hosting.page_of(request.query_params.get("page_id")),
        )
        return Response(
            hosting.search(
                owner=owners.of_request(request),
                provider=api.choice(request, "provider", hosting.PROVIDERS) or "",
                query=query,
            )
        )
