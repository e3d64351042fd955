"""How many conversations of one user run at once: never more than may, however many are asked for together.

Operators (owner None, staff) may run as many as there are lanes.
"""

from django.contrib.auth import get_user_model

from agentserver import conf
from agentserver.errors import TooMany
from conversations.models import Conversation


class TooManyRuns(TooMany):
    sentence = "You run as many conversations as one user may. Try again when one has ended."


def look(owner_id: int | None) -> None:
    """Raises TooManyRuns (429) where there is no room: a first look, before anything is built."""
    if owner_id is not None and _running(owner_id) >= conf.current().max_runs_per_user:
        raise TooManyRuns()


def admit(owner_id: int | None) -> None:
    """Raises TooManyRuns (429) if there is one run too many.

    Called in the transaction that makes one run, after it has: it is counted, and undone with the
    transaction. The user's row is locked, so that two processes count one after the other; not so
    hard that new rows which refer to it have to wait.
    """
    if owner_id is None:
        return
    get_user_model().objects.select_for_update(no_key=True).filter(pk=owner_id).first()
    if _running(owner_id) > conf.current().max_runs_per_user:
        raise TooManyRuns()


def _running(owner_id: int) -> int:
    return Conversation.objects.running().filter(owner_id=owner_id, owner__is_staff=False).count()
