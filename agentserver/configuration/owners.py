"""Whose configuration a request is about, and the one lock that its writes take."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import IntegrityError, transaction

from agentserver.configuration.models import Settings


def owner_of(principal: Any) -> int | None:
    """The user whose rows ``principal`` sees; None for the operator."""
    return None if principal.operator else principal.user_id


def of_request(request: Any) -> int | None:
    return owner_of(request.principal)


@contextmanager
def locked(owner: int | None) -> Iterator[Settings]:
    """One transaction that no other write of ``owner`` overlaps, with the owner's settings row."""
    _ensure(owner)
    with transaction.atomic():
        yield Settings.objects.select_for_update().get(owner=owner)


def settings_row(owner: int | None) -> Settings:
    """The owner's settings for reading; an unsaved row where there are none yet."""
    return Settings.objects.filter(owner=owner).first() or Settings(owner_id=owner)


def _ensure(owner: int | None) -> None:
    if Settings.objects.filter(owner=owner).exists():
        return
    try:
        with transaction.atomic():
            Settings.objects.create(owner_id=owner)
    except IntegrityError:
        pass  # another request was first
