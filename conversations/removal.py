"""The end of a deleted conversation's rows: now, or when nobody has to tell of it any more."""

import uuid

from conversations import signals
from conversations.models import Conversation, Status


def remove(conversation_id: uuid.UUID) -> bool:
    """Remove a conversation marked as deleting, with its events, unless a receiver of ``leaving``
    keeps it; whether it is gone. In a transaction of the writer; may be called again."""
    rows = Conversation.objects.filter(id=conversation_id, status=Status.DELETING)
    answers = signals.leaving.send(sender=Conversation, conversation_id=conversation_id)
    if any(kept for _, kept in answers):
        return False
    rows.delete()
    return True
