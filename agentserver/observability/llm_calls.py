"""Counts the model calls of this process, those of sub-agents, titles and condensers among them.

The SDK's ``Telemetry`` is told of every answer and every final failure, and tells nobody but one
callback without arguments; so its two methods are wrapped, once, when the SDK has been imported.
"""

import functools
import time
from typing import Any

from agentserver.observability import metrics, tracing

_model = metrics.bounded()
_error = metrics.bounded()


def install() -> None:
    """Wrap the SDK's telemetry; safe to call more than once. The SDK must have been imported."""
    from openhands.sdk.llm.utils.telemetry import Telemetry

    if not hasattr(Telemetry.on_response, "__wrapped__"):
        Telemetry.on_response = _answered(Telemetry.on_response)
        Telemetry.on_error = _failed(Telemetry.on_error)


def _answered(original: Any) -> Any:
    @functools.wraps(original)
    def on_response(self, *args: Any, **kwargs: Any) -> Any:
        cost = self.metrics.accumulated_cost
        result = original(self, *args, **kwargs)
        usage = self.metrics.token_usages[-1] if self.metrics.token_usages else None
        if usage is not None and usage.response_id != getattr(args[0] if args else None, "id", None):
            usage = None  # the provider reported none for this answer
        _count(self.model_name, self._last_latency, self.metrics.accumulated_cost - cost, usage)
        tracing.model_call(self.model_name, self._req_start, usage)
        return result

    return on_response


def _count(name: str, seconds: float, cost: float, usage: Any) -> None:
    model = _model(name)
    metrics.LLM_SECONDS.labels(model).observe(seconds)
    if cost > 0:
        metrics.LLM_COST.labels(model).inc(cost)
    if usage is not None:
        tokens = metrics.LLM_TOKENS
        tokens.labels(model, "prompt").inc(usage.prompt_tokens)
        tokens.labels(model, "completion").inc(usage.completion_tokens)
        tokens.labels(model, "cache_read").inc(usage.cache_read_tokens)
        tokens.labels(model, "cache_write").inc(usage.cache_write_tokens)


def _failed(original: Any) -> Any:
    @functools.wraps(original)
    def on_error(self, error: BaseException, *args: Any, **kwargs: Any) -> Any:
        result = original(self, error, *args, **kwargs)
        metrics.LLM_ERRORS.labels(_model(self.model_name), _error(type(error).__name__)).inc()
        tracing.model_call(self.model_name, self._req_start or time.time(), None, error)
        return result

    return on_error
