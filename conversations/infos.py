"""The wire's ConversationInfo: made when a state is saved, completed from columns when read."""

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from django.db.models import QuerySet

from agentserver.api import Raw
from agentserver.compiled import Compiled, place
from conversations.models import Conversation
from conversations.texts import masked

# What the SDK's state has and ConversationInfo has not, or takes from columns.
_LEFT_OUT = {"execution_status", "tags", "id", "activated_path_rules", "head_is_empty"}


def describe(state: Any, request: dict[str, Any]) -> str:
    """The part of the info that the state gives, secrets masked and skills left out: JSON.

    ``state``: the SDK's ConversationState, its lock held by the caller or the caller its owner.
    """
    info = state.model_dump(mode="json", exclude=_LEFT_OUT)
    context = info["agent"].get("agent_context")
    if context and context.get("skills"):
        context["skills"] = []
    agent = state.agent
    info |= {
        "metrics": None,
        "current_model_id": getattr(agent, "current_model_id", None),
        "available_models": _models(agent),
        "supports_runtime_model_switch": bool(getattr(agent, "supports_runtime_model_switch", False)),
        "launched_agent_profile": request.get("launched_agent_profile"),
        "client_tools": request.get("client_tools", []),
        "tool_module_qualnames": request.get("tool_module_qualnames", {}),
    }
    return orjson.dumps(info, default=str).decode()


def _models(agent: Any) -> list[Any]:
    models = getattr(agent, "available_models", None) or []
    return [model.model_dump(mode="json") if hasattr(model, "model_dump") else model for model in models]


COLUMNS = (
    "id", "status", "title", "tags", "created_at", "updated_at", "forked_from_id",
    "forked_from_event_id", "parent_id", "info",
)  # fmt: skip
"""What an info needs; ``base_state`` as well where skills are asked for."""


def columns(include_skills: bool) -> tuple[str, ...]:
    return (*COLUMNS, "base_state") if include_skills else COLUMNS


def read(rows: QuerySet, include_skills: bool) -> QuerySet:
    return rows.only(*columns(include_skills))


def infos(rows: Sequence[Conversation], include_skills: bool = False) -> list[str]:
    """The infos of ``rows`` as JSON texts, with one query for all their children."""
    children = _children(rows)
    return [_info(row, children.get(row.id, []), include_skills) for row in rows]


def info(row: Conversation, include_skills: bool = False) -> Raw:
    return Raw(infos([row], include_skills)[0])


def page(rows: Sequence[Conversation], next_page_id: str | None, include_skills: bool) -> Raw:
    items = ",".join(infos(rows, include_skills))
    return Raw(f'{{"items":[{items}],"next_page_id":{orjson.dumps(next_page_id).decode()}}}')


def _children(rows: Iterable[Conversation]) -> dict[Any, list[str]]:
    found: dict[Any, list[str]] = {}
    ids = [row.id for row in rows]
    if ids:
        for child, parent in _child_query(len(ids)).rows(*ids):
            found.setdefault(parent, []).append(str(child))
    return found


@functools.lru_cache(128)  # a page has at most a hundred
def _child_query(parents: int) -> Compiled:
    places = [place(number) for number in range(parents)]
    rows = Conversation.objects.living().filter(parent_id__in=places).order_by("created_at")
    return Compiled(rows.values_list("id", "parent_id"), parents)


def _info(row: Conversation, children: list[str], include_skills: bool) -> str:
    columns = {
        "id": str(row.id),
        "execution_status": row.status,
        "title": row.title,
        "created_at": wire_time(row.created_at),
        "updated_at": wire_time(row.updated_at),
        "forked_from_conversation_id": _text(row.forked_from_id),
        "forked_from_event_id": row.forked_from_event_id,
        "parent_conversation_id": _text(row.parent_id),
        "sub_conversation_ids": children,
        "runtime_info": {"runtime_status": "available", "can_resume": True, "runtime_error": None},
    }
    stored = _with_skills(row) if include_skills else row.info
    return f'{orjson.dumps(columns).decode()[:-1]},"tags":{row.tags},{stored[1:]}'


def _with_skills(row: Conversation) -> str:
    agent = orjson.loads(masked(row.base_state)).get("agent", {})
    skills = (agent.get("agent_context") or {}).get("skills")
    stored = orjson.loads(row.info)
    if skills:
        stored["agent"]["agent_context"]["skills"] = skills
    return orjson.dumps(stored).decode()


def wire_time(moment: Any) -> str:
    """UTC with ``Z``, as the reference writes these two."""
    return moment.isoformat().replace("+00:00", "Z")


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def full_state(row: Conversation) -> dict[str, Any]:
    """The value of a ``full_state`` update: the saved state with the status that is shown."""
    state = orjson.loads(masked(row.base_state))
    state["execution_status"] = row.status
    state["tags"] = orjson.loads(row.tags)
    return state
