"""What a user who is not staff may call: their own conversations, and what is needed to start one.

Commands and files are shared by all and run by one system account; they are for operators
(session keys and staff). Settings, profiles and installed extensions are each user's own. Anything
not named here is refused.
"""

import re
import uuid
from typing import Any

from agentserver.auth.principals import Principal

_READING = {"GET", "HEAD"}
_UUID = r"([0-9a-fA-F]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
_OWN = re.compile(rf"/api/(?:acp/)?conversations/{_UUID}(/.*)?", re.DOTALL)
_ANY = re.compile(
    r"/api/(?:acp/)?conversations/?|/api/(?:acp/)?conversations/(?:search|count)/?"
    r"|/api/auth/workspace-session/?|/api/(?:skills|hooks|plugins|sub-agents)/?"
    r"|/v1/(?:models|chat/completions|responses)/?|/api/mcp/test/?"
)
_READ = re.compile(
    r"/api/(?:llm/(?:models|models/verified|providers)|tools|tools/catalog"
    r"|(?:skills|plugins)/marketplace|skills/catalog|canvas-extensions/installed|vscode/status|file/home)/?"
)
# What its owner keeps: nobody else's is read or written through these.
_OWN_THINGS = re.compile(
    r"/api/(?:settings|profiles|agent-profiles|meta-profiles|llm/provider-connections|mcp/oauth|webhooks"
    r"|(?:skills|plugins)/install(?:ed)?)(/.*)?",
    re.DOTALL,
)
_TRAJECTORY = re.compile(rf"/api/file/download-trajectory/{_UUID}/?")


def allow(principal: Principal, scope: dict[str, Any]) -> bool:
    """Whether the kind of request is one a user may make. ``sees`` says whether its subject is theirs."""
    path, method = scope["path"], scope["method"]
    if principal.operator or _ANY.fullmatch(path) or subject(path):
        return True
    if _OWN_THINGS.fullmatch(path):
        return True
    return method in _READING and bool(_READ.fullmatch(path))


def subject(path: str) -> uuid.UUID | None:
    """The conversation that the path is about."""
    match = _OWN.fullmatch(path) or _TRAJECTORY.fullmatch(path)
    try:
        return uuid.UUID(match[1]) if match else None
    except ValueError:
        return None


def sees(principal: Principal, conversation_id: uuid.UUID) -> bool:
    """Whether the conversation is there for them: one query, on a thread."""
    from conversations.models import Conversation

    return Conversation.objects.visible_to(principal).filter(pk=conversation_id).exists()
