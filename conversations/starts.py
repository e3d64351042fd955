"""Start requests: reading them with the SDK's own model, and making those of children."""

from typing import Any

import orjson
from openhands.sdk.agent.base import AgentBase
from openhands.sdk.conversation.request import StartChildConversationRequest, StartConversationRequest
from openhands.sdk.workspace import LocalWorkspace

from agentserver import api, sdk
from agentserver.auth.doors import Principal
from agentserver.configuration import services as configuration
from agentserver.errors import invalid
from conversations import services
from conversations.models import Conversation
from conversations.requests import _strings


def parsed(body: Any, principal: Principal) -> StartConversationRequest:
    """The body of a create request. Raises Invalid (422), without the values it refuses."""
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
    body = configuration.with_own_secrets(principal=principal, payload=configuration.decrypted(body))
    wanted = api.validated(body, StartConversationRequest)
    if wanted.initial_message is not None and wanted.initial_message.role != "user":
        raise invalid(
            ["body", "initial_message", "role"], "Only messages of the user are accepted", "literal_error"
        )
    return wanted


def child(
    *, parent: Conversation, wanted: StartChildConversationRequest, principal: Principal
) -> dict[str, Any]:
    """Start a child that works on ``wanted.task`` with the parent's agent. The wire's answer."""
    agent = AgentBase.model_validate(
        orjson.loads(parent.base_state)["agent"], context={"cipher": sdk.cipher()}
    )
    request = StartConversationRequest(
        agent=agent,
        workspace=LocalWorkspace(working_dir=parent.workspace_dir),
        parent_conversation_id=parent.id,
        worktree=wanted.isolation == "worktree",
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
        "isolation": "shared" if row.workspace_dir == parent.workspace_dir else "worktree",
    }
