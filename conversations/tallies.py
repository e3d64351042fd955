"""Counts that cost the same at any size: sums of a few rows that triggers keep (decision 16).

On SQLite, where one writes at a time, a trigger changes the row of an owner and a status in place. On
PostgreSQL that row would make all processes wait for each other, so every change is a row of its own,
and what many changes come to is folded into one row from time to time.
"""

import contextlib
import functools
import logging
from concurrent.futures import Future

from django.db import connection
from django.db.models import Count, Q, Sum

from agentserver import compiled, writer
from agentserver.auth.principals import Principal
from agentserver.causes import is_database_trouble
from conversations.models import ConversationTally, Status

logger = logging.getLogger(__name__)

MOST = 200
"""Changes that may wait to be folded, until somebody looks."""
BATCH = 1000
"""Changes that are folded in one transaction at the most."""
_LOCK = 0x7A111E5
"""Of those who fold, one does. Nobody waits for it: two that met in their batches could wait in a circle."""
_FOLD = """
    WITH taken AS (
        DELETE FROM conversations_conversationtally WHERE id IN (
            SELECT id FROM conversations_conversationtally WHERE NOT folded ORDER BY id LIMIT %s
        ) RETURNING owner, status, count
    )
    INSERT INTO conversations_conversationtally AS tally (owner, status, count, folded)
    SELECT owner, status, sum(count), true FROM taken GROUP BY owner, status
    ON CONFLICT (owner, status) WHERE folded DO UPDATE SET count = tally.count + EXCLUDED.count
"""
_asked: Future[bool] | None = None


def conversations(*, principal: Principal | None, status: str | None) -> int:
    """How many ``principal`` sees: in ``status``, or without those being deleted."""
    if principal is None:
        return 0
    owner = ConversationTally.EVERYBODY if principal.operator else principal.user_id
    # One statement: what is folded meanwhile is seen before or after, never twice.
    found = _sums(owner, status).rows()
    total, waiting = found[0] if found else (0, 0)
    if waiting > MOST:
        _ask_to_fold()
    return total


def by_status() -> dict[str, int]:
    """How many of all conversations have each status there is."""
    rows = ConversationTally.objects.filter(owner=ConversationTally.EVERYBODY).values_list("status")
    return dict(rows.annotate(Sum("count")))


@functools.lru_cache(256)
def _sums(owner: int | None, status: str | None) -> compiled.Compiled:
    """A row with the sum, and how many changes of it wait to be folded; none if nothing was ever counted."""
    rows = ConversationTally.objects.filter(owner=owner)
    rows = rows.exclude(status=Status.DELETING) if status is None else rows.filter(status=status)
    sums = rows.values("owner").annotate(total=Sum("count"), waiting=Count("id", filter=Q(folded=False)))
    return compiled.Compiled(sums.values_list("total", "waiting"), 0)


def fold() -> bool:
    """Add the oldest changes to their tallies; False if another process does. In a transaction of the writer.

    Only where changes are rows of their own.
    """
    with connection.cursor() as cursor:
        if not cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK]).fetchone()[0]:
            return False
        cursor.execute(_FOLD, [BATCH])
        return True


def keep() -> None:
    """Fold where nobody counts: called now and then by a server or runner."""
    try:
        while _many_wait() and writer.current().call(fold):
            pass
    except Exception as error:
        if not is_database_trouble(error):
            raise
        logger.warning("Counts of conversations are folded later: the database cannot be used")


def _many_wait() -> bool:
    changes = ConversationTally.objects.filter(folded=False).order_by()
    return len(changes.values_list("id")[: MOST + 1]) > MOST


def _ask_to_fold() -> None:
    """Let the writer fold, unless it is to already; what counts does not wait for it."""
    global _asked
    if _asked is None or _asked.done():
        with contextlib.suppress(writer.Closed):  # nobody has to fold while the server ends
            _asked = writer.current().submit(fold)
