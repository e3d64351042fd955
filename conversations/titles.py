"""Titles that the agent's model makes from the first message, in the background."""

import logging
from typing import TYPE_CHECKING, Any

from django.db import close_old_connections

from agentserver import writer
from conversations.models import Conversation

if TYPE_CHECKING:
    from conversations.loaded import Loaded

logger = logging.getLogger(__name__)

LENGTH = 50
"""Characters; the reference's figure."""


def wanted(row: Conversation, request: dict[str, Any]) -> bool:
    return row.title is None and request.get("autotitle", True)


def make(loaded: "Loaded") -> None:
    """Ask the model, fall back to the message's beginning; never replaces a title. Worker thread."""
    try:
        title = loaded.conversation.generate_title(max_length=LENGTH)
        rows = Conversation.objects.filter(id=loaded.id, title__isnull=True)
        writer.current().call(lambda: rows.update(title=title))
        if not loaded.closed:
            loaded.conversation.save()  # the call's tokens belong to the statistics
    except Exception as error:
        logger.warning("No title for %s: %s", loaded.id, type(error).__name__)
    finally:
        close_old_connections()
