"""Whether an error says that the disk is full, on either engine; and the space that is kept aside."""

import errno

import psycopg
import pytest
from django.db import IntegrityError, OperationalError

from agentserver import conf
from agentserver.causes import is_database_trouble
from agentserver.observability import disk, reserve


def caused(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        OperationalError("database or disk is full"),
        caused(OperationalError("could not extend file"), psycopg.errors.DiskFull("could not extend file")),
        caused(RuntimeError("the run failed"), OperationalError("database or disk is full")),
    ],
)
def test_a_full_disk_is_known_by_every_error_that_says_so(error):
    assert disk.is_full(error)


@pytest.mark.parametrize(
    "error", [OSError(errno.EACCES, "no"), OperationalError("locked"), ValueError("database"), KeyError("x")]
)
def test_other_errors_are_not_about_space(error):
    assert not disk.is_full(error)


@pytest.mark.parametrize(("free", "full"), [(0, True), (10**9, False)])
def test_an_io_error_of_sqlite_is_about_space_where_there_is_none(monkeypatch, free, full):
    monkeypatch.setattr(disk, "free_bytes", lambda: free)
    assert disk.is_full(OperationalError("disk I/O error")) is full


def test_trouble_with_the_database_is_what_trying_again_may_help():
    assert is_database_trouble(caused(RuntimeError("x"), OperationalError("away")))
    assert not is_database_trouble(IntegrityError("a second row"))
    assert not is_database_trouble(ValueError("x"))


def test_causes_that_go_round_in_circles_end():
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert not disk.is_full(first)


@pytest.fixture
def directory(monkeypatch, tmp_path):
    monkeypatch.setattr(conf.current(), "persistence_dir", tmp_path)
    return tmp_path


def test_the_reserve_is_kept_and_can_be_released_once(directory):
    reserve.keep()
    assert (directory / "reserve").stat().st_size == reserve.SIZE

    assert [reserve.release(), reserve.release()] == [True, False]
    assert list(directory.iterdir()) == []


def test_no_reserve_is_made_where_space_is_short(directory, monkeypatch):
    monkeypatch.setattr(disk, "free_bytes", lambda: reserve.PLENTY - 1)
    reserve.keep()
    assert list(directory.iterdir()) == []
