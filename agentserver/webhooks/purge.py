"""Deleted conversations whose rows were kept for webhooks: removed when all is told, or after a day."""

import datetime

from django.utils import timezone

from agentserver import conf
from agentserver.webhooks.models import Delivery
from conversations import removal
from conversations.models import Conversation, Status

AT_ONCE = 50


def purge() -> None:
    """Remove some. On the writer thread."""
    kept = Conversation.objects.filter(
        status=Status.DELETING, id__in=Delivery.objects.filter(last=True).values("conversation_id")
    )
    cutoff = timezone.now() - datetime.timedelta(seconds=conf.current().webhook_keep_deleted_seconds)
    kept.filter(updated_at__lte=cutoff).delete()
    for conversation_id in kept.values_list("id", flat=True)[:AT_ONCE]:
        removal.remove(conversation_id)
