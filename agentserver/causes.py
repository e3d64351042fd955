"""An error and what caused it, and whether that is a database that cannot be used at the moment."""

from collections.abc import Iterator

from django.db import InterfaceError, OperationalError


def causes(error: BaseException) -> Iterator[BaseException]:
    """``error``, its cause, the cause of that, and so on."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__


def is_database_trouble(error: BaseException) -> bool:
    """Whether trying again later may help: the disk is full, the database is away. Not bad data."""
    return any(isinstance(one, (OperationalError, InterfaceError)) for one in causes(error))
