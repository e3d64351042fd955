"""An error and what caused it, and whether that is a database that cannot be used at the moment."""

import sqlite3
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
    found = list(causes(error))
    troubled = any(isinstance(one, (OperationalError, InterfaceError)) for one in found)
    return troubled and not any(map(_is_mistake, found))


def _is_mistake(error: BaseException) -> bool:
    """SQLite's word for a statement that makes no sense, such as one about a table that is not there."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR
