"""Start requests: reading them with the SDK's own model, and making those of children."""

from typing import Any

import orjson
from openhands.sdk.agent.base import AgentBase
from openhands.sdk.conversation.request import StartChildConversationRequest, StartConversationRequest
from openhands.sdk.workspace import LocalWorkspace
from rest_framework.request import Request

from agentserver import api, sdk
from agentserver.auth.doors import Principal
from agentserver.errors import invalid
from conversations import services
from conversations.models import Conversation
from conversations.requests import _strings


def parsed(request: Request) -> StartConversationRequest:
    """The body of a create request. Raises Invalid (422), without the values it refuses."""
    body = request.data
    if not isinstance(body, dict):
        raise invalid(["body"], "Input should be an object", "dict_type")
    body = dict(body)
    if body.get("tags") is None:
        body.pop("tags", None)
    else:
        try:
            _strings(body["tags"])
        except ValueError as error:
            raise invalid(["body", "tags"], str(error)) from None
    if not isinstance(body.get("workspace"), dict) or not body["workspace"].get("working_dir"):
        raise invalid(["body", "workspace", "working_dir"], "Field required", "missing")
    request._full_data = body
    wanted = api.parse(request, StartConversationRequest, context=_context(body))
    if wanted.initial_message is not None and wanted.initial_message.role != "user":
        raise invalid(["body", "initial_message", "role"], "Only messages of the user are accepted", "literal_error")
    return wanted


def _context(body: dict[str, Any]) -> dict[str, Any]:
    """Values that this server encrypted for an untrusted client come back as they are."""
    return {"cipher": sdk.cipher()} if body.get("secrets_encrypted") else {}


def child(*, parent: Conversation, wanted: StartChildConversationRequest, principal: Principal) -> dict[str, Any]:
    """Start a child that works on ``wanted.task`` with the parent's agent. The wire's answer."""
    agent = AgentBase.model_validate(
        orjson.loads(parent.base_state)["agent"], context={"cipher": sdk.cipher()}
    )
    request = StartConversationRequest(
        agent=agent,
        workspace=LocalWorkspace(working_dir=parent.workspace_dir),
        parent_conversation_id=parent.id,
        autotitle=wanted.title is None,
        initial_message={"role": "user", "content": [{"type": "text", "text": wanted.task}]},
    )
    row, _ = services.start(request=request, principal=principal)
    if wanted.title:
        services.update(row=row, title=wanted.title, tags=None)
    return {
        "conversation_id": str(row.id),
        "parent_conversation_id": str(parent.id),
        "status": row.status,
        "title": wanted.title,
        "url": None,
        "workspace": row.workspace_dir,
        "isolation": "shared",
    }
