"""Retention: what is old goes as a whole, what runs stays whole, and the command does as it says."""

import datetime
import threading
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from bashevents.models import BashEvent
from bashevents.retention import Pruning, interval

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]

DAY = 86_400


def prune(*, age, **options):
    return Pruning(timezone.now() - datetime.timedelta(seconds=age), **options).run()


def command(*args):
    out = StringIO()
    call_command("prune_bash_events", *args, stdout=out)
    return out.getvalue()


def left():
    return set(BashEvent.objects.values_list("command_id", flat=True))


def test_old_events_go_and_young_ones_stay(make_command):
    make_command(100)
    young = make_command(10)

    assert prune(age=50) == 2
    assert left() == {young.event_id}


def test_a_running_command_keeps_all_its_events(make_command):
    running = make_command(1000, outputs=5, running="somebody")

    assert prune(age=1) == 0
    assert BashEvent.objects.count() == 6
    assert left() == {running.event_id}


def test_a_long_command_keeps_its_first_output_until_its_end_is_old(make_command):
    make_command(1000, outputs=3, ended=10)

    assert prune(age=60) == 0
    assert prune(age=5) == 4


def test_output_whose_command_was_deleted_goes_by_its_own_age(make_command):
    old = make_command(100, outputs=2)
    BashEvent.objects.filter(event_id=old.event_id).delete()

    assert prune(age=50) == 2


def test_small_batches_delete_the_same(make_command):
    for age in range(60, 100):
        make_command(age)
    make_command(90, running="somebody")

    assert prune(age=50, batch_size=3) == 80
    assert BashEvent.objects.count() == 2


def test_two_prunings_at_once_delete_each_event_once(make_command):
    for _ in range(60):
        make_command(100)
    counts = []

    def work():
        counts.append(prune(age=50, batch_size=5))
        connection.close()

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert sum(counts) == 120
    assert not BashEvent.objects.exists()


def test_a_pruning_that_is_broken_off_keeps_the_rest(make_command):
    for _ in range(5):
        make_command(100)
    ended = threading.Event()

    assert prune(age=50, batch_size=2, ended=ended, progress=lambda _: ended.set()) == 2
    assert BashEvent.objects.count() == 8


def test_the_command_says_in_one_line_what_it_did(make_command):
    make_command(2 * DAY)
    make_command(10)

    assert command("--older-than", "1d", "--dry-run") == "2 bash events would be deleted.\n"
    assert command("--older-than", "1d", "--batch-size", "1") == "2 bash events deleted.\n"
    assert command("--older-than", "86400") == "0 bash events deleted.\n"


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--older-than", "soon"],
        ["--older-than", "7x"],
        ["--older-than", "-1"],
        ["--older-than", "999999999w"],
        ["--older-than", "1d", "--batch-size", "0"],
    ],
)
def test_the_command_refuses_what_it_does_not_understand(args):
    with pytest.raises(CommandError):
        command(*args)


@pytest.mark.parametrize(("retention", "seconds"), [(0.1, 1), (2, 1), (60, 30), (120, 60), (DAY, 60)])
def test_the_server_prunes_soon_after_an_event_is_due(retention, seconds):
    assert interval(retention) == seconds


def test_the_space_of_deleted_events_is_given_back(make_command):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL reuses space by itself")
    with connection.cursor() as cursor:  # as settings.py makes the database of a server
        cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
        cursor.execute("VACUUM")
    old = make_command(100, outputs=0)
    BashEvent.objects.filter(id=old.id).update(payload="x" * 4_000_000)
    before = _pages()

    prune(age=50)

    assert _pages() < before - 900


def _pages():
    with connection.cursor() as cursor:
        return cursor.execute("PRAGMA page_count").fetchone()[0]
