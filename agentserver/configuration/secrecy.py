"""The keys of models, taken out of texts that others wrote about them: providers quote what they refuse."""

from collections.abc import Iterable
from typing import Any

MASK = "<secret-hidden>"
SHORTEST = 8
"""A shorter key is a word, as for models that want none, and stands in texts by chance."""


def masked(text: str, llms: Iterable[Any]) -> str:
    """``text`` without the keys and extra headers of ``llms``."""
    for secret in sorted(_secrets(llms), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _secrets(llms: Iterable[Any]) -> set[str]:
    from openhands.sdk.llm.llm import LLM_SECRET_FIELDS

    found: set[str] = set()
    for llm in llms:
        values = [getattr(llm, field) for field in LLM_SECRET_FIELDS]
        found.update(value.get_secret_value() for value in values if value is not None)
        found.update((llm.extra_headers or {}).values())
    return {secret for secret in found if len(secret) >= SHORTEST}
