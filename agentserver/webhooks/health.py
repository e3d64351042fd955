"""Whether a webhook works: since when it fails, and its end when that goes on for days."""

import datetime
import logging

from django.utils import timezone

from agentserver import conf
from agentserver.webhooks.models import Webhook

logger = logging.getLogger(__name__)


def failed(hook_id: int, error: str) -> bool:
    """Note a failed post; whether the webhook has been disabled by it. On the writer thread."""
    row, now = Webhook.objects.filter(id=hook_id, enabled=True).first(), timezone.now()
    if row is None:
        return True
    row.failing_since = row.failing_since or now
    row.last_error = error[:200]
    days = conf.current().webhook_disable_after_days
    if now - row.failing_since > datetime.timedelta(days=days):
        row.enabled = False
        row.disabled_reason = (
            f"Disabled on {now:%Y-%m-%d %H:%M} UTC: every post since {row.failing_since:%Y-%m-%d %H:%M} "
            f"UTC has failed, the last one with {row.last_error}. Enable it when the receiver works."
        )
        logger.warning("Webhook %s: %s", row.pk, row.disabled_reason)
    row.save(update_fields=["failing_since", "last_error", "enabled", "disabled_reason"])
    return not row.enabled


def works(hook_id: int) -> None:
    """A post was accepted after others had failed. On the writer thread."""
    failing = Webhook.objects.filter(id=hook_id, failing_since__isnull=False)
    failing.update(failing_since=None, last_error="")
