"""Files, git and editors of workspaces."""

from agentserver.openapi.operation import operation as op

_GIT = "openhands.sdk.git.models"
_BODIES = "agentserver.workspace.views.remembered"
_BYTES = ("application/octet-stream",)
_ANY = ("*/*",)
_ONE = "/api/conversations/{conversation_id}/workspace"
_BINARY = {"type": "string", "format": "binary"}
_DELETED = {"type": "object", "properties": {"deleted": {"type": "boolean"}}}

OPERATIONS = (
    op("GET", _ONE, answer=_BINARY, shapes=_ANY, errors=(400, 404)),
    op("GET", f"{_ONE}/{{file_path}}", answer=_BINARY, shapes=_ANY, errors=(400, 404)),
    op(
        "POST",
        "/api/file/upload",
        body={"type": "object", "properties": {"file": _BINARY}, "required": ["file"]},
        body_kind="multipart/form-data",
        answer="Success",
        query="path*",
        scoped=True,
    ),
    op("GET", "/api/file/download", answer=_BINARY, shapes=_BYTES, query="path*", errors=(404,), scoped=True),
    op("POST", "/api/file/create_directory", answer="Success", query="path*", scoped=True),
    op(
        "GET",
        "/api/file/archive",
        answer=_BINARY,
        shapes=_BYTES,
        query="path* format base_ref use_default_excludes:bool exclude:list",
        scoped=True,
    ),
    op(
        "GET",
        "/api/file/download-trajectory/{conversation_id}",
        answer=_BINARY,
        shapes=("application/zip",),
        errors=(404,),
        scoped=True,
    ),
    op("GET", "/api/file/home", answer={"type": "object"}, query="include_hidden:bool"),
    op(
        "GET",
        "/api/file/search_subdirs",
        answer="PathPage",
        query="path* page_id limit:limit include_hidden:bool",
    ),
    op("GET", "/api/git/changes", answer=[f"{_GIT}:GitChange"], query="path* ref", scoped=True),
    op("GET", "/api/git/diff", answer=f"{_GIT}:GitDiff", query="path* ref commit", scoped=True),
    op("GET", "/api/git/commits", answer=f"{_GIT}:GitCommitsPage", query="path* limit:int", scoped=True),
    op("GET", "/api/git/commits/{sha}/changes", answer=[f"{_GIT}:GitChange"], query="path*", scoped=True),
    op(
        "GET",
        "/api/git/repositories/search",
        answer=f"{_GIT}:GitProviderRepositoryPage",
        query="provider* query limit:int page_id",
    ),
    op("GET", "/api/vscode/status", answer={"type": "object"}, scoped=True),
    op(
        "GET",
        "/api/vscode/url",
        answer={"type": "object"},
        query="base_url workspace_dir",
        errors=(503,),
        scoped=True,
    ),
    op("GET", "/api/desktop/url", answer={"type": "object"}, errors=(404,), deprecated=True),
    op("GET", "/api/workspaces", answer=f"{_BODIES}:Workspaces"),
    op("POST", "/api/workspaces", body=f"{_BODIES}:Workspaces", answer=f"{_BODIES}:Workspaces"),
    op("DELETE", "/api/workspaces", answer=_DELETED, query="path*"),
    op("POST", "/api/workspaces/parents", body=f"{_BODIES}:Parents", answer=f"{_BODIES}:Workspaces"),
    op("DELETE", "/api/workspaces/parents", answer=_DELETED, query="path*"),
)
