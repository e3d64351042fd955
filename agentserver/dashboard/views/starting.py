"""The form that starts a conversation."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from agentserver.dashboard import starting
from agentserver.dashboard.forms import StartForm
from agentserver.dashboard.views.base import Page, sentence
from agentserver.errors import Problem


class NewPage(Page):
    """GET: the form. POST: a conversation, then its page."""

    section = "new"
    waits = True

    def get(self, request: HttpRequest) -> HttpResponse:
        choices = starting.choices(request.principal)
        first = {
            "model": choices[0].value,
            "workspace": starting.suggested_workspace(),
            "message": starting.DEMO_MESSAGE if choices[0].value == "demo" else "",
        }
        return self._form(StartForm(choices, initial=first), choices)

    def post(self, request: HttpRequest) -> HttpResponse:
        choices = starting.choices(request.principal)
        form = StartForm(choices, request.POST)
        if not form.is_valid():
            return self._form(form, choices, 422)
        try:
            row = starting.start(principal=request.principal, wanted=form.cleaned_data)
        except Problem as problem:
            form.add_error(None, sentence(problem))
            return self._form(form, choices, problem.status_code)
        return redirect("dashboard:conversation", conversation_id=row.id)

    def _form(self, form: StartForm, choices: list[starting.Choice], status: int = 200) -> HttpResponse:
        only_demo = all(choice.value in ("demo", "other") for choice in choices)
        return self.show("new.html", {"form": form, "only_demo": only_demo}, status)
