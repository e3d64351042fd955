"""Titles that the agent's model makes from the first message, in the background."""

import logging
from typing import TYPE_CHECKING, Any

from agentserver import writer
from agentserver.auth.doors import Principal
from agentserver.configuration import services as configuration
from agentserver.errors import Problem
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
        title = loaded.conversation.make_title(
            llm=_model(loaded), max_length=LENGTH, prompt=loaded.request.get("prompt")
        )
        rows = Conversation.objects.filter(id=loaded.id, title__isnull=True)
        writer.current().call(lambda: rows.update(title=title))
        if not loaded.closed:
            loaded.conversation.save()  # the call's tokens belong to the statistics
    except Exception as error:
        logger.warning("No title for %s: %s", loaded.id, type(error).__name__)


def _model(loaded: "Loaded") -> Any:
    """The model of the profile that the conversation names for titles; None for the agent's own."""
    name = loaded.request.get("title_llm_profile")
    if not name:
        return None
    owner_id = Conversation.objects.values_list("owner_id", flat=True).get(id=loaded.id)
    try:
        return configuration.llm_of_profile(
            principal=Principal(operator=owner_id is None, user_id=owner_id), name=name
        )
    except Problem:
        return None
