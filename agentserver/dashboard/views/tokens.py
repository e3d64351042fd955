"""A user's API tokens: made here, shown once, revoked here."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from agentserver.auth import tokens
from agentserver.auth.models import ApiToken
from agentserver.dashboard.forms import TokenForm
from agentserver.dashboard.views.base import Page
from agentserver.errors import NotFound, Problem

MOST = 100
"""Tokens one user may have at once."""


class NoAccount(Problem):
    status_code, code = 409, "no_account"
    sentence = "Tokens belong to accounts. Log in with one; a session key has none."


class TooManyTokens(Problem):
    status_code, code = 409, "too_many_tokens"
    sentence = f"You have {MOST} tokens, as many as one user may. Revoke one first."


class TokensPage(Page):
    """GET: the list. POST: a new token, whose text is on this answer and nowhere else."""

    section = "tokens"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._list(TokenForm())

    def post(self, request: HttpRequest) -> HttpResponse:
        user = _account(request)
        form = TokenForm(request.POST)
        if not form.is_valid():
            return self._list(form, status=422)
        if user.api_tokens.count() >= MOST:
            raise TooManyTokens
        made, text = tokens.create(user=user, name=form.cleaned_data["name"])
        return self._list(TokenForm(), made=made, text=text)

    def _list(self, form: TokenForm, status: int = 200, **more) -> HttpResponse:
        own = ApiToken.objects.filter(user_id=self.request.principal.user_id)
        has_account = self.request.principal.user_id is not None
        context = {"form": form, "tokens": own[:MOST], "has_account": has_account, **more}
        return self.show("tokens.html", context, status)


class RevokeView(Page):
    def post(self, request: HttpRequest, token_id: int) -> HttpResponse:
        deleted, _ = _account(request).api_tokens.filter(id=token_id).delete()
        if not deleted:
            raise NotFound("There is no such token of yours.")
        return redirect("dashboard:tokens")


def _account(request: HttpRequest):
    if request.principal.user_id is None:  # type: ignore[attr-defined]
        raise NoAccount
    return request.user
