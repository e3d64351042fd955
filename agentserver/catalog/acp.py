"""Which models an ACP agent offers: it is started, asked and ended."""

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from agentserver import sdk
from agentserver.configuration import sealing
from agentserver.configuration.refusals import refuse_quietly

START_SECONDS = 60
KEPT = 32
"""Answers kept in memory; starting an agent takes seconds."""

_answers: OrderedDict[str, dict[str, Any]] = OrderedDict()
_lock = threading.Lock()


def models(*, agent_settings: Mapping[str, Any], secrets: Mapping[str, Any], refresh: bool) -> dict[str, Any]:
    """The wire's ACPModelDiscovery; a failure is an answer with ``error``. Raises Invalid (422)."""
    settings, sources = _parsed(agent_settings, secrets)
    key = json.dumps(settings.model_dump(mode="json", exclude={"agent_context"}), sort_keys=True)
    if not refresh and (kept := _answers.get(key)):
        return kept
    from openhands.sdk.agent.acp_model_discovery import discover_acp_models

    answer = discover_acp_models(settings, secrets=sources).model_dump(mode="json")
    if answer["error"] is None:
        _keep(key, answer)
    return answer


def _keep(key: str, answer: dict[str, Any]) -> None:
    with _lock:
        _answers[key] = answer
        while len(_answers) > KEPT:
            _answers.popitem(last=False)


@refuse_quietly
def _parsed(agent_settings: Mapping[str, Any], secrets: Mapping[str, Any]) -> tuple[Any, Any]:
    sdk.require()
    from openhands.sdk.secret import SecretSource
    from openhands.sdk.settings.model import ACPAgentSettings
    from pydantic import TypeAdapter

    plain = sealing.decrypted({**agent_settings, "agent_kind": "acp"}, ("body", "agent_settings"))
    settings = ACPAgentSettings.model_validate(plain)
    bounded = min(settings.acp_startup_timeout, START_SECONDS)
    sources = TypeAdapter(dict[str, SecretSource]).validate_python(sealing.decrypted(secrets))
    return settings.model_copy(update={"acp_startup_timeout": bounded}), sources
