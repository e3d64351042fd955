"""What every page shares: who looks at it, the login page for strangers, errors as pages."""

from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.views import View

from agentserver.auth import doors, initialization, keys
from agentserver.errors import Problem
from agentserver.front import prefix

OPERATORS_ONLY = "This page is for members of staff and for whoever has a session key."
DORMANT = "The server waits for its configuration. Send POST /api/init first."


class Page(View):
    """``request.principal`` is whoever looks; ``section`` marks the entry of the menu."""

    section = ""
    operators_only = False

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = self._answer(request, *args, **kwargs)
        add_never_cache_headers(response)
        return response

    def _answer(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if initialization.dormant():
            return self.problem(request, 503, DORMANT)
        principal = doors.page_principal(request)
        if principal is None:
            return redirect_to_login(request.get_full_path())
        request.principal = principal  # type: ignore[attr-defined]
        if self.operators_only and not principal.operator:
            return self.problem(request, 403, OPERATORS_ONLY)
        try:
            return super().dispatch(request, *args, **kwargs)
        except Problem as problem:
            return self.problem(request, problem.status_code, sentence(problem))

    def show(self, template: str, context: dict[str, Any] | None = None, status: int = 200) -> HttpResponse:
        return _shown(self.request, f"dashboard/{template}", self.section, context or {}, status)

    def problem(self, request: HttpRequest, status: int, text: str) -> HttpResponse:
        return _shown(request, "dashboard/problem.html", "", {"status": status, "sentence": text}, status)


def _shown(
    request: HttpRequest, template: str, section: str, context: dict[str, Any], status: int
) -> HttpResponse:
    shared = {
        "section": section,
        "principal": getattr(request, "principal", None),
        "base": prefix.path(),
        "open_to_all": not keys.required(),
        "now": timezone.now(),
    }
    return render(request, template, {**shared, **context}, status=status)


def sentence(problem: Problem) -> str:
    """What a person is told: the problem's sentence, or those of the fields it lists."""
    detail = problem.body["detail"]
    if isinstance(detail, list):
        return " ".join(f"{_place(item)}{item['msg']}" for item in detail if isinstance(item, dict))
    return str(detail)


def _place(item: dict[str, Any]) -> str:
    names = [str(part) for part in item.get("loc", []) if part not in ("body", "query")]
    return f"{'.'.join(names)}: " if names else ""
