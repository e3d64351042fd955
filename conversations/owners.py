"""Whose conversations: the owners there are to choose from, and what one of them has."""

from django.contrib.auth import get_user_model
from django.db.models import Exists, OuterRef

from conversations.models import Conversation
from conversations.querysets import ConversationQuerySet

MOST = 100
"""Owners to choose from; any other can be named."""
NOBODY = ":nobody"
"""In place of a name, none of which has a colon: conversations without an owner."""


def owned(rows: ConversationQuerySet, name: str) -> ConversationQuerySet:
    """Those of ``rows`` whose owner has that name."""
    if name == NOBODY:
        return rows.filter(owner=None)
    user = get_user_model().objects.filter(username=name).only("pk").first()
    return rows.none() if user is None else rows.filter(owner=user)


def choices(chosen: str = "") -> list[tuple[str, str]]:
    """(value, label) of who has conversations, by name; empty where no account has any."""
    theirs = Conversation.objects.filter(owner=OuterRef("pk"))
    found = get_user_model().objects.filter(Exists(theirs)).order_by("username")
    names = list(found.values_list("username", flat=True)[:MOST])
    if chosen and chosen not in (NOBODY, *names):
        names.append(chosen)
    return [*((one, one) for one in names), (NOBODY, "No owner")] if names or chosen else []
