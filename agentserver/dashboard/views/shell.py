"""The page of the server's own shell."""

from django.http import HttpRequest, HttpResponse

from agentserver import api
from agentserver.dashboard import shell
from agentserver.dashboard.views.base import Page


class _Operators(Page):
    """Everybody's commands are run by one system account: they are for operators."""

    section = "bash"
    operators_only = True


class BashPage(_Operators):
    waits = True

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.show("bash.html", {"kept": shell.kept(), "ages": shell.ages()})


class CommandsView(_Operators):
    """GET: recent commands as JSON, ``?before=ROW`` for older ones."""

    def get(self, request: HttpRequest) -> HttpResponse:
        found = shell.commands(request.GET.get("before", ""))
        return HttpResponse(api.dumps({"items": found}), content_type="application/json")


class PruneView(_Operators):
    """POST: without ``delete`` the number of events that are old enough, with it their deletion."""

    waits = True

    def post(self, request: HttpRequest) -> HttpResponse:
        age = request.POST.get("age", "")
        context = {"kept": shell.kept(), "ages": shell.ages(), "age": age}
        if "delete" in request.POST:
            context["pruned"], context["more"] = shell.prune(age)
            context["kept"] = shell.kept()
        else:
            context["prunable"] = shell.prunable(age)
        return self.show("bash.html", context)
