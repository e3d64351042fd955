"""What refers to a saved language model by its name: agent profiles, meta-profiles, the settings."""

import json
from collections.abc import Mapping
from typing import Any

from agentserver.configuration.models import AgentProfile, MetaProfile, Settings


def referrers(owner: int | None, name: str) -> list[str]:
    """The agent profiles and meta-profiles that refer to the LLM profile ``name``."""
    agents = [row.name for row, body in _agents(owner) if _refers(body, name)]
    metas = [row.name for row, body in _metas(owner) if name in _routes(body)]
    return agents + metas


def follow(owner: int | None, settings: Settings, name: str, new_name: str) -> None:
    """Point everything that refers to ``name`` at ``new_name``; ``settings`` is the owner's locked row."""
    if settings.active_profile == name:
        settings.active_profile = new_name
        settings.save()
    for row, body in _agents(owner):
        if _refers(body, name):
            row.body = json.dumps({**body, "llm_profile_ref": new_name})
            row.save()
    for row, body in _metas(owner):
        if name in _routes(body):
            row.body = json.dumps(_rerouted(body, name, new_name))
            row.save()


def _agents(owner: int | None) -> list[tuple[AgentProfile, dict[str, Any]]]:
    return [(row, json.loads(row.body)) for row in AgentProfile.objects.filter(owner=owner).order_by("name")]


def _refers(body: Mapping[str, Any], name: str) -> bool:
    return str(body.get("llm_profile_ref", "")).removesuffix(".json") == name


def _metas(owner: int | None) -> list[tuple[MetaProfile, dict[str, Any]]]:
    return [(row, json.loads(row.body)) for row in MetaProfile.objects.filter(owner=owner).order_by("name")]


def _routes(body: Mapping[str, Any]) -> set[str]:
    return {
        body["classifier_model"],
        *(entry["model"] for entry in body.get("classes") or []),
    }


def _rerouted(body: Mapping[str, Any], name: str, new_name: str) -> dict[str, Any]:
    def follow(model: str) -> str:
        return new_name if model == name else model

    classes = [{**entry, "model": follow(entry["model"])} for entry in body.get("classes") or []]
    return {
        **body,
        "classifier_model": follow(body["classifier_model"]),
        "classes": classes,
    }
