"""Django's login by password, slowed down: every login form passes here, also the admin's."""

import hashlib
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.core.cache import cache
from django.core.exceptions import PermissionDenied

from agentserver import conf

WINDOW_SECONDS = 60


class ThrottledBackend(ModelBackend):
    """Refuses the attempt, right password or not, once too many of a minute have failed."""

    def authenticate(self, request, username=None, password=None, **kwargs):
        names = counters(request, username)
        if any(cache.get(name, 0) >= conf.current().login_attempts_per_minute for name in names):
            raise PermissionDenied  # and no other backend is asked
        user = super().authenticate(request, username=username, password=password, **kwargs)
        if user is None:
            count_failure(names)
        return user


def count_failure(names: list[str]) -> None:
    for name in names:
        if not cache.add(name, 1, WINDOW_SECONDS):
            _increase(name)


def allowed(request: Any) -> bool:
    """Whether this client may try again; for logins without an account."""
    return all(
        cache.get(name, 0) < conf.current().login_attempts_per_minute for name in counters(request, None)
    )


def _increase(name: str) -> None:
    try:
        cache.incr(name)
    except ValueError:  # it expired meanwhile
        cache.add(name, 1, WINDOW_SECONDS)


def counters(request: Any, username: Any) -> list[str]:
    """What is counted: the client's address, and the account, each on its own."""
    address = request.META.get("REMOTE_ADDR", "") if request is not None else ""
    names = [f"login:address:{address}"] if address else []
    if username:
        hashed = hashlib.sha256(str(username).encode("utf-8", "replace")).hexdigest()
        names.append(f"login:account:{hashed}")
    return names
