"""`manage.py prune_bash_events`: delete old bash events, for cron; safe while the server runs."""

import datetime
import re

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils import timezone

from agentserver import conf, writer
from bashevents.models import BashEvent
from bashevents.retention import BATCH, Pruning

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
BAR = 30


class Command(BaseCommand):
    help = "Delete bash events older than the retention. Commands that still run keep theirs."

    def add_arguments(self, parser):
        parser.add_argument(
            "--older-than",
            metavar="AGE",
            help="7d, 12h, 30m, or seconds; default OH_BASH_EVENTS_RETENTION_SECONDS",
        )
        parser.add_argument(
            "--batch-size",
            type=int,
            default=BATCH,
            metavar="N",
            help=f"Events in one transaction; default {BATCH}",
        )
        parser.add_argument("--dry-run", action="store_true", help="Count only")

    def handle(self, *args, older_than, batch_size, dry_run, **options):
        if batch_size < 1:
            raise CommandError("--batch-size must be at least 1.")
        cutoff = timezone.now() - _age(older_than)
        try:
            if dry_run:
                self.stdout.write(f"{_count(cutoff)} bash events would be deleted.")
            else:
                self.stdout.write(f"{self._prune(cutoff, batch_size)} bash events deleted.")
        except DatabaseError as error:
            raise CommandError(f"The database refused: {error}") from None
        finally:
            writer.current().close()

    def _prune(self, cutoff, batch_size):
        bar = Bar(self.stderr, _count(cutoff)) if self.stderr.isatty() else None
        try:
            return Pruning(cutoff, batch_size, progress=bar.advance if bar else None).run()
        finally:
            if bar:
                bar.clear()


class Bar:
    """A line on a terminal that fills."""

    def __init__(self, out, total):
        self._out, self._total, self._done = out, max(total, 1), 0

    def advance(self, count):
        self._done = min(self._done + count, self._total)
        filled = BAR * self._done // self._total
        self._write(f"\r[{'#' * filled}{'.' * (BAR - filled)}] {self._done} of {self._total}")

    def clear(self):
        self._write("\r\033[K")

    def _write(self, text):
        self._out.write(text, ending="")
        self._out.flush()


def _count(cutoff):
    return BashEvent.objects.prunable(cutoff).count()


def _age(text):
    """The age that ``--older-than`` or the setting gives. Raises CommandError."""
    if text is None:
        retention = conf.current().bash_events_retention_seconds
        if retention is None:
            raise CommandError("Say how old: --older-than 7d, or set OH_BASH_EVENTS_RETENTION_SECONDS.")
        return datetime.timedelta(seconds=retention)
    parts = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([smhdw]?)", text.strip())
    if not parts:
        raise CommandError("--older-than takes seconds or a number with s, m, h, d or w, such as 7d.")
    try:
        age = datetime.timedelta(seconds=float(parts[1]) * UNITS[parts[2]])
        timezone.now() - age
    except OverflowError:
        raise CommandError("--older-than is longer than the calendar.") from None
    return age
