"""Language models and providers that the SDK knows of."""

import functools

from agentserver import sdk


@functools.cache
def models() -> tuple[str, ...]:
    """Every known model, sorted. None of it comes over the network."""
    sdk.require()
    from openhands.sdk.llm.utils.unverified_models import get_supported_llm_models

    return tuple(sorted(set(get_supported_llm_models())))


@functools.cache
def providers() -> tuple[str, ...]:
    sdk.require()
    import litellm

    return tuple(sorted({getattr(provider, "value", provider) for provider in litellm.provider_list} - {""}))


def verified() -> dict[str, list[str]]:
    """Models that the SDK's makers have tried, by provider."""
    sdk.require()
    from openhands.sdk.llm.utils.verified_models import VERIFIED_MODELS

    return {provider: list(names) for provider, names in VERIFIED_MODELS.items()}


def models_of(provider: str) -> list[str]:
    """The known models of one provider; none for an unknown one."""
    tried = set(verified().get(provider, []))
    return [model for model in models() if model in tried or _provider_in(model) == provider]


def _provider_in(model: str) -> str:
    """The provider that the name of a model begins with, if it does."""
    head, slash, _ = model.partition("/")
    return head if slash and head in _known_providers() else ""


@functools.cache
def _known_providers() -> frozenset[str]:
    return frozenset(providers())
