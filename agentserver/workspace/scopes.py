"""Where a request may reach: the whole machine, or the workspace of one conversation."""

import os
import uuid
from pathlib import Path

from agentserver.auth import doors
from agentserver.errors import NotFound, invalid
from agentserver.workspace import paths
from conversations.models import Conversation


class NoConversation(NotFound):
    sentence = "There is no such conversation."


def conversation_id(text: str) -> uuid.UUID:
    """With or without dashes. Raises Invalid (422)."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise invalid(["path", "conversation_id"], "Input should be a valid UUID", "uuid_parsing") from None


def workspace_of(request, given_id: str) -> Path:
    """The workspace of a conversation that the caller may see, with links resolved. Raises NotFound (404)."""
    principal = getattr(request, "principal", doors.OPERATOR)
    found = Conversation.objects.visible_to(principal).living().filter(pk=conversation_id(given_id))
    directory = found.values_list("workspace_dir", flat=True).first()
    if directory is None:
        raise NoConversation()
    return Path(os.path.realpath(directory))


class Reach:
    """What the paths of a request may name."""

    def __init__(self, request, given_id: str | None = None):
        self.root = workspace_of(request, given_id) if given_id else None

    def path(self, text: str, *, relative: bool = False) -> Path:
        """``text`` as a path to use. Machine-wide paths are absolute unless ``relative`` is allowed.

        Raises BadPath (400); Outside (422) for what leads out of a conversation's workspace.
        """
        if self.root is not None:
            return paths.inside(self.root, text)
        if relative:
            return Path.cwd() / paths.possible(text)
        return paths.absolute(text)
