"""Trying out a language model: one short question to its provider."""

import json
from typing import Any

from agentserver.configuration import connections, llm_profiles, secrecy
from agentserver.configuration.models import LLMProfile

SECONDS = 30
"""What the answer may take; a provider that is slow exists, so it counts as valid."""


def tried(*, owner: int | None, name: str, llm: Any) -> dict[str, Any]:
    """The wire's ValidateProfileResponse. Raises Invalid (422) for what is no LLM."""
    stored = LLMProfile.objects.filter(owner=owner, name=name).first()
    model = llm_profiles.parsed(llm, json.loads(stored.body) if stored else None)
    model = connections.applied(owner=owner, llm=model)
    model = model.model_copy(update={"timeout": SECONDS, "num_retries": 0, "stream": False})
    error = _ask(model)
    return {"valid": error is None, "error": error}


def _ask(llm: Any) -> dict[str, str] | None:
    from openhands.sdk.llm import Message, TextContent
    from openhands.sdk.llm.exceptions import LLMRateLimitError, LLMTimeoutError

    try:
        llm.completion([Message(role="user", content=[TextContent(text="Say OK.")])])
    except (LLMRateLimitError, LLMTimeoutError):
        return None  # there is somebody who would answer
    except Exception as error:
        return {
            "type": type(error).__name__,
            "message": secrecy.masked(str(error), [llm])[:1000],
        }
    return None
