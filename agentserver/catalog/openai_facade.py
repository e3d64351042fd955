"""An agent as a model: a chat request becomes a run of a conversation, its end the answer.

``openhands_NAME`` is the active agent profile with the LLM profile NAME.
"""

import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentserver import conf, sdk
from agentserver.auth.doors import Principal
from agentserver.catalog.openai_prompts import Prompt
from agentserver.configuration import agent_profiles, llm_profiles
from agentserver.configuration.owners import owner_of
from agentserver.configuration.refusals import refuse_quietly
from agentserver.errors import BadGateway, Conflict, NotFound, Problem
from conversations import reads, services
from conversations.models import Conversation, Status

PREFIX = "openhands_"
RUN_SECONDS = 3600
"""What a request waits for its run; the run goes on after that, in its conversation."""
FIRST_LOOK, LAST_LOOK = 0.05, 0.5
"""Seconds between looks at the row, growing: a run takes seconds to minutes."""
TITLE = 50


class NoSuchModel(NotFound):
    sentence = "There is no such model. GET /v1/models lists them: each saved LLM profile is one."


class StillRunning(Problem):
    status_code, code = 504, "still_running"
    sentence = "The agent still works on it. Its conversation goes on; look there for the answer."


@dataclass(frozen=True, slots=True)
class Asked:
    """A run under way: the conversation, and the tokens that it had used before."""

    conversation_id: uuid.UUID
    before: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    prompt_tokens: int
    completion_tokens: int


def models(*, principal: Principal) -> list[str]:
    """The names under which agents answer, sorted."""
    return [PREFIX + name for name in llm_profiles.names(owner=owner_of(principal))]


def is_known(*, principal: Principal, conversation_id: uuid.UUID | None) -> bool:
    """Whether this is a conversation to continue, rather than the id of a new one."""
    return conversation_id is not None and _find(principal, conversation_id) is not None


def _find(principal: Principal, conversation_id: uuid.UUID) -> Conversation | None:
    rows = Conversation.objects.visible_to(principal).living()
    return rows.filter(id=conversation_id).first()


def require_model(*, principal: Principal, model: str) -> str:
    """The LLM profile that ``model`` names. Raises NoSuchModel (404)."""
    name = model.removeprefix(PREFIX)
    if not model.startswith(PREFIX) or name not in llm_profiles.names(owner=owner_of(principal)):
        raise NoSuchModel()
    return name


def ask(
    *,
    principal: Principal,
    profile: str,
    prompt: Prompt,
    conversation_id: uuid.UUID | None,
    traces: Any,
) -> Asked:
    """Start a run that answers ``prompt``, in a known conversation or a new one. See ``answer``."""
    sdk.require()
    row = _find(principal, conversation_id) if conversation_id else None
    if row is None:
        return Asked(_started(principal, profile, prompt, conversation_id, traces), (0, 0))
    before = _tokens(row)
    services.send(row=row, message=_message(prompt), run=True)
    return Asked(row.id, before)


def _message(prompt: Prompt) -> Any:
    from openhands.sdk.llm import Message

    return Message.model_validate({"role": "user", "content": prompt.content})


@refuse_quietly
def _request(
    profile_id: str, profile: str, prompt: Prompt, conversation_id: Any, traces: Mapping[str, Any]
) -> Any:
    from openhands.sdk.conversation.request import StartConversationRequest

    configuration = conf.current()
    directory = configuration.workspace_path or configuration.persistence_dir / "workspace"
    additions = {"llm_profile_ref": profile, "system_message_suffix_append": prompt.system or None}
    return StartConversationRequest.model_validate(
        {
            "agent_profile_id": profile_id,
            "agent_launch_additions": additions,
            "workspace": {"working_dir": str(directory.absolute())},
            "conversation_id": conversation_id,
            "initial_message": {"role": "user", "content": prompt.content, "run": True},
            "autotitle": False,  # its tokens would be counted as the answer's
            "tags": {"source": "openai"},
            **traces,
        }
    )


def _started(
    principal: Principal, profile: str, prompt: Prompt, conversation_id: Any, traces: Any
) -> uuid.UUID:
    active = agent_profiles.listed(owner=owner_of(principal))["active_agent_profile_id"]
    request = _request(active, profile, prompt, conversation_id, traces)
    row, _ = services.start(request=request, principal=principal)
    if title := prompt.text.strip()[:TITLE]:
        services.update(row=row, title=title, tags=None)
    return row.id


def answer(asked: Asked) -> Answer:
    """Wait for the run's end. Raises BadGateway (502), Conflict (409), StillRunning (504)."""
    row = _ended(asked.conversation_id)
    if row.status in (Status.ERROR, Status.STUCK):
        raise BadGateway("The agent did not come to an answer. Its conversation tells why.")
    if row.status != Status.FINISHED:
        raise Conflict("The run was stopped before it came to an answer, or waits for a confirmation.")
    prompt, completion = _tokens(row)
    return Answer(reads.final_response(row=row), prompt - asked.before[0], completion - asked.before[1])


def _ended(conversation_id: uuid.UUID) -> Conversation:
    deadline, pause = time.monotonic() + RUN_SECONDS, FIRST_LOOK
    rows = Conversation.objects.filter(id=conversation_id)
    while (status := rows.values_list("status", flat=True).first()) == Status.RUNNING:
        if time.monotonic() > deadline:
            raise StillRunning()
        time.sleep(pause)
        pause = min(pause * 1.3, LAST_LOOK)
    if status is None:
        raise Conflict("The conversation was deleted.")
    return rows.get()


def _tokens(row: Conversation) -> tuple[int, int]:
    """Prompt and completion tokens that the conversation's models have used."""
    metrics = json.loads(row.info or "{}").get("stats", {}).get("usage_to_metrics", {})
    used = [each.get("accumulated_token_usage") or {} for each in metrics.values()]
    return sum(u.get("prompt_tokens", 0) for u in used), sum(u.get("completion_tokens", 0) for u in used)
