"""The page for whoever is on call, and its numbers."""

from django.http import HttpRequest, HttpResponse

from agentserver import api
from agentserver.dashboard import numbers
from agentserver.dashboard.views.base import Page
from agentserver.errors import invalid


class OperationsPage(Page):
    section = "operations"
    operators_only = True

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.show("operations.html", {"engine": numbers.engine()})


class NumbersView(Page):
    """GET ``?since=UNIX_SECONDS``: the numbers, with the samples taken after that."""

    operators_only = True

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            since = float(request.GET.get("since", "0"))
        except ValueError:
            raise invalid(["query", "since"], "Input should be a number") from None
        return HttpResponse(api.dumps(numbers.operations(since)), content_type="application/json")
