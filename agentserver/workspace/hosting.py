"""The repositories that a user has at a hosting service, found with the user's own token."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from agentserver import sdk
from agentserver.configuration import user_secrets
from agentserver.errors import BadGateway, Problem, invalid

TIMEOUT_SECONDS = 15
PROVIDERS = {"github", "gitlab", "bitbucket", "azure_devops"}
_ALSO = {"github": ("GITHUB_TOKEN", "GH_TOKEN"), "gitlab": ("GITLAB_TOKEN",)}


class Unreachable(BadGateway):
    code, sentence = "hosting_unreachable", "The hosting service does not answer. Try again later."


class Refused(Problem):
    code, sentence = "hosting_refused", "The hosting service refuses the stored token. Store a valid one."


class NotOffered(Problem):
    status_code, code = 501, "hosting_not_offered"
    sentence = "Repositories of this provider cannot be listed yet; clone them by their address."


@dataclass(frozen=True)
class Query:
    """``page`` counts from 1."""

    text: str
    limit: int
    page: int


def page_of(page_id: str | None) -> int:
    """The number of a page. Raises Invalid (422)."""
    if page_id is None:
        return 1
    if not page_id.isascii() or not page_id.isdigit() or not 1 <= int(page_id[:9]) <= 10_000:
        raise invalid(["query", "page_id"], "Input should be a page of an earlier answer")
    return int(page_id)


def search(*, owner: int | None, provider: str, query: Query) -> dict[str, Any]:
    """A page of repositories in the wire's form; without a stored token nothing is asked.

    Blocks on the network. Raises Refused (400), NotOffered (501), Unreachable (502).
    """
    token = _token(owner, provider)
    if token is None:
        return {"items": [], "next_page_id": None, "missing_token": True}
    if provider not in _SERVICES:
        raise NotOffered()
    try:
        items = _SERVICES[provider](token, query)
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        raise Unreachable() from None
    more = len(items) == query.limit
    return {
        "items": items,
        "next_page_id": str(query.page + 1) if more else None,
        "missing_token": False,
    }


def _token(owner: int | None, provider: str) -> str | None:
    sdk.require()
    from openhands.sdk.workspace.repo import PROVIDER_TOKEN_NAMES, GitProvider

    for name in (PROVIDER_TOKEN_NAMES.get(GitProvider(provider)), *_ALSO.get(provider, ())):
        try:
            if name:
                return user_secrets.value(owner=owner, name=name)
        except user_secrets.NoSuchSecret:
            continue
    return None


def _get(url: str, headers: dict[str, str], parameters: dict[str, Any]) -> Any:
    response = httpx.get(url, headers=headers, params=parameters, timeout=TIMEOUT_SECONDS)
    if response.status_code in (401, 403):
        raise Refused()
    return response.raise_for_status().json()


GITHUB, GITLAB = "https://api.github.com", "https://gitlab.com/api/v4"


def _github(token: str, query: Query) -> list[dict[str, Any]]:
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    paging = {"per_page": query.limit, "page": query.page, "sort": "pushed" if not query.text else "updated"}
    if query.text:
        wanted = f"{query.text} in:name user:@me fork:true"
        found = _get(f"{GITHUB}/search/repositories", headers, {**paging, "q": wanted})["items"]
    else:
        found = _get(f"{GITHUB}/user/repos", headers, paging)
    return [
        {
            "id": str(repository["id"]),
            "full_name": repository["full_name"],
            "git_provider": "github",
            "is_public": not repository["private"],
            "stargazers_count": repository.get("stargazers_count"),
            "pushed_at": repository.get("pushed_at"),
            "main_branch": repository.get("default_branch"),
        }
        for repository in found
    ]


def _gitlab(token: str, query: Query) -> list[dict[str, Any]]:
    parameters = {
        "membership": "true",
        "per_page": query.limit,
        "page": query.page,
        "order_by": "last_activity_at",
        **({"search": query.text} if query.text else {}),
    }
    found = _get(f"{GITLAB}/projects", {"Authorization": f"Bearer {token}"}, parameters)
    return [
        {
            "id": str(project["id"]),
            "full_name": project["path_with_namespace"],
            "git_provider": "gitlab",
            "is_public": project.get("visibility") == "public",
            "stargazers_count": project.get("star_count"),
            "pushed_at": project.get("last_activity_at"),
            "main_branch": project.get("default_branch"),
        }
        for project in found
    ]


_SERVICES: dict[str, Callable[[str, Query], list[dict[str, Any]]]] = {"github": _github, "gitlab": _gitlab}
