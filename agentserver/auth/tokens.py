"""API tokens: made, found again, revoked. The text of one exists only where its user keeps it."""

import hashlib
import secrets
from datetime import timedelta
from typing import Any

from django.utils import timezone

from agentserver.auth.principals import Principal, of_user

PREFIX = "ast_"
"""Tells a token from a session key, and secret scanners what they found."""
LONGEST = 100
NOTE_USE_EVERY = timedelta(minutes=1)


def create(*, user: Any, name: str) -> tuple[Any, str]:
    """A new token of ``user``: the row, and the text, which cannot be had again."""
    from agentserver.auth.models import ApiToken

    text = PREFIX + secrets.token_urlsafe(32)
    return ApiToken.objects.create(user=user, name=name, digest=digest(text)), text


def looks_like_one(given: bytes) -> bool:
    return given.startswith(PREFIX.encode()) and len(given) <= LONGEST


def principal_of(given: bytes) -> Principal | None:
    """Who holds the token ``given``; one query. None if it is unknown or its user is inactive.

    Found by its digest: an index tells nothing about the text, so no comparison leaks by its time.
    """
    from agentserver.auth.models import ApiToken

    token = ApiToken.objects.select_related("user").filter(digest=digest(given)).first()
    if token is None:
        return None
    _note_use(token)
    return of_user(token.user)


def digest(text: str | bytes) -> str:
    """SHA-256 is enough: 256 random bits cannot be guessed, so nothing slower is needed."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def _note_use(token: Any) -> None:
    from agentserver import writer
    from agentserver.auth.models import ApiToken

    now = timezone.now()
    if token.last_used_at and now - token.last_used_at < NOTE_USE_EVERY:
        return
    writer.current().submit(lambda: ApiToken.objects.filter(pk=token.pk).update(last_used_at=now))
