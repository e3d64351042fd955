"""The login and logout pages, for the dashboard and whoever needs a session."""

from django.contrib.auth import login as start_session
from django.contrib.auth import logout as end_session
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_http_methods, require_POST

from agentserver.auth import keys, sessions
from agentserver.auth.forms import LoginForm

HOME = "/dashboard/"


@never_cache
@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
def login(request):
    """GET: the form. POST: a session, then on to ``next``."""
    form = LoginForm(request, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        _begin(request, form)
        return redirect(_next(request))
    status = 200 if request.method != "POST" else 403
    return render(request, "access/login.html", {"form": form, "next": _next(request)}, status=status)


@require_POST
@csrf_protect
def logout(request):
    end_session(request)
    return redirect("/login")


def _begin(request, form: LoginForm) -> None:
    if form.user is not None:
        start_session(request, form.user)
        return
    request.session.flush()  # a new identifier, so that a planted one is worth nothing
    request.session[sessions.OPERATOR_MARK] = keys.mark_of(form.key or "")


def _next(request) -> str:
    """Where to go after the login: a page of this server, never another site."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(wanted, allowed_hosts=None, require_https=request.is_secure())
    return wanted if wanted and safe else HOME
