"""One trace for each run, to an OTLP collector: the run, its model calls, its tools. No content.

Behind the extra ``otel`` and the setting OH_OTEL_ENDPOINT. The SDK has hooks of its own (Laminar,
which its own variables turn on): those trace whole conversations with all that was said. These here
carry ids, names, numbers and outcomes. The provider is ours alone, so that the two do not meet.
"""

import contextvars
import time
import uuid
from importlib import metadata
from typing import Any

from agentserver import conf

EXPORT_SECONDS = 5
"""What handing a batch to the collector may take."""
SCHEDULE_SECONDS = 1.0
MOST_OPEN = 256
"""Tool calls of a conversation whose beginning is remembered."""

current: contextvars.ContextVar[Any] = contextvars.ContextVar("current_run_span", default=None)
"""The span of the run that goes on in this task or thread."""

_provider: Any = None
_tracer: Any = None


def start(configuration: conf.Configuration) -> None:
    """Trace from here on, if that is configured. Raises ConfigurationError without the packages."""
    global _provider, _tracer
    if not configuration.otel_endpoint:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise conf.ConfigurationError(
            "OH_OTEL_ENDPOINT is set, but its packages are not installed. "
            "Run: uv sync --extra otel, or install agentserver[otel]."
        ) from None
    exporter = OTLPSpanExporter(
        endpoint=f"{configuration.otel_endpoint.rstrip('/')}/v1/traces",
        headers=configuration.otel_headers,
        timeout=EXPORT_SECONDS,
    )
    resource = Resource.create(
        {"service.name": "agentserver", "openhands.sdk.version": metadata.version("openhands-sdk")}
    )
    _provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    _provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=1000 * SCHEDULE_SECONDS))
    _tracer = _provider.get_tracer("agentserver")


def stop() -> None:
    """Hand over what is left; as long as the collector takes. A thread that nobody waits for."""
    if _provider is not None:
        _provider.force_flush()


def begin_run(conversation_id: uuid.UUID, number: int) -> Any:
    """The root span of a run, which is a trace of its own; None where nothing is traced."""
    if _tracer is None:
        return None
    from opentelemetry.context import Context

    attributes = {"conversation.id": str(conversation_id), "run.number": number}
    return _tracer.start_span("run", context=Context(), attributes=attributes)


def end_run(span: Any, outcome: str, steps: int) -> None:
    if span is not None:
        span.set_attributes({"run.outcome": outcome, "run.steps": steps})
        _fail(span, outcome if outcome in ("error", "stuck", "abandoned") else "")
        span.end()


def model_call(model: str, began: float, usage: Any, error: BaseException | None = None) -> None:
    """A call of the current run's model that began then, by ``time.time``, and is over now."""
    attributes = {"gen_ai.request.model": model}
    if usage is not None:
        attributes |= {
            "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.completion_tokens,
        }
    _past("llm", began, attributes, type(error).__name__ if error is not None else "")


class Tools:
    """An event callback of the SDK: each tool call of a conversation as a span of the run it is in."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, float]] = {}

    def __call__(self, event: Any) -> None:
        call_id, kind = getattr(event, "tool_call_id", None), type(event).__name__
        if _tracer is None or call_id is None:
            return
        if kind == "ActionEvent":
            if len(self._open) >= MOST_OPEN:
                self._open.clear()
            self._open[call_id] = event.tool_name, time.time()
        elif call_id in self._open:
            name, began = self._open.pop(call_id)
            failed = "" if kind == "ObservationEvent" else kind
            _past(f"tool {name}", began, {"tool.name": name}, failed)


def _past(name: str, began: float, attributes: dict[str, Any], failure: str) -> None:
    """A child of the current run's span that is over now."""
    parent = current.get()
    if _tracer is None or parent is None:
        return
    from opentelemetry.trace import set_span_in_context

    span = _tracer.start_span(
        name, context=set_span_in_context(parent), start_time=int(began * 1e9), attributes=attributes
    )
    _fail(span, failure)
    span.end()


def _fail(span: Any, failure: str) -> None:
    if failure:
        from opentelemetry.trace import StatusCode

        span.set_attribute("error.type", failure)
        span.set_status(StatusCode.ERROR)
