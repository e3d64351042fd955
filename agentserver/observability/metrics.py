"""The metrics of this process. Any thread; a count costs less than two microseconds.

Several processes are scraped one by one, each at its own address: Prometheus adds them up, and what
one process shows is never another's. Names of models and errors come from outside, so their number
is bounded (``bounded``).
"""

from collections.abc import Callable, Sequence

from prometheus_client import (
    GC_COLLECTOR,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)

disable_created_metrics()  # when each began: a second series for every one, which nobody asks for
REGISTRY = CollectorRegistry()
REGISTRY.register(GC_COLLECTOR)
ProcessCollector(registry=REGISTRY)

FAST = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
"""Seconds: for what takes milliseconds."""
HUMAN = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Seconds: for what a person waits for."""
LONG = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320)
"""Seconds: for a model's answer."""
MOST_VALUES = 50
"""Different values of a label whose values come from outside; further ones are ``other``."""


def _counter(name: str, help: str, *labels: str) -> Counter:
    return Counter(f"agentserver_{name}", help, labels, registry=REGISTRY)


def _gauge(name: str, help: str, *labels: str) -> Gauge:
    return Gauge(f"agentserver_{name}", help, labels, registry=REGISTRY)


def _histogram(name: str, help: str, buckets: Sequence[float], *labels: str) -> Histogram:
    return Histogram(f"agentserver_{name}", help, labels, buckets=buckets, registry=REGISTRY)


def bounded(most: int = MOST_VALUES) -> Callable[[str], str]:
    """A function that lets the first ``most`` different values through and calls the others ``other``."""
    known: set[str] = set()

    def value(text: str) -> str:
        if text in known:
            return text
        if len(known) >= most:
            return "other"
        known.add(text)
        return text

    return value


# Conversations
RUNS_STARTED = _counter("runs_started", "Runs that have begun.")
RUNS_ENDED = _counter(
    "runs_ended",
    "Runs that have ended: finished, paused, interrupted, error, stuck, waiting_for_confirmation, abandoned.",
    "outcome",
)
RUNS_RUNNING = _gauge("runs_running", "Runs that go on.")
LANES_BUSY = _gauge("lanes_busy", "Lanes that are taken, out of lanes_limit.")
LANES_LIMIT = _gauge("lanes_limit", "Runs that may go on at once: OH_MAX_CONCURRENT_RUNS.")
CONVERSATIONS_LOADED = _gauge("conversations_loaded", "Conversations in memory.")
STEPS = _counter("steps", "Steps of runs: a model call with its tools.")
INTERRUPT = _histogram(
    "interrupt_seconds",
    "From the request to interrupt until the call in flight was cut_off, or the run was over.",
    HUMAN,
    "until",
)

# Models
LLM_SECONDS = _histogram("llm_seconds", "What a model took to answer.", LONG, "model")
LLM_ERRORS = _counter("llm_errors", "Model calls that failed, after all retries.", "model", "error")
LLM_TOKENS = _counter(
    "llm_tokens", "Tokens: prompt (cache_read is a part of it), completion, cache_write.", "model", "kind"
)
LLM_COST = _counter("llm_cost_dollars", "What model calls cost, where the price is known.", "model")

# Events
EVENT_APPEND = _histogram(
    "event_append_seconds", "From an event of a conversation being there to its commit.", FAST
)
EVENT_DELIVERY = _histogram(
    "event_delivery_seconds", "From an event's commit to its being handed to a socket that follows.", FAST
)
SOCKETS_OPEN = _gauge("sockets_open", "Sockets that are let in: events, session or bash.", "kind")
SOCKETS_GIVEN_UP = _counter("sockets_given_up", "Sockets closed because they did not read.")

# Bash
BASH_STARTED = _counter("bash_commands_started", "Bash commands that were asked for.")
BASH_ENDED = _counter(
    "bash_commands_ended",
    "Bash commands that have ended: success, failure (another exit code), signal, timeout_or_error.",
    "outcome",
)
BASH_RUNNING = _gauge("bash_commands_running", "Bash commands that run, or have left something running.")
BASH_PRUNED = _counter("bash_events_pruned", "Bash events that were too old and are deleted.")

# Webhooks, of the whole database: every process that is scraped says the same
WEBHOOK_EVENTS = _gauge("webhook_events_waiting", "Events that webhooks have yet to post.")
WEBHOOK_CONVERSATIONS = _gauge("webhook_conversations_waiting", "Conversations with something to post.")
WEBHOOKS_UNWELL = _gauge(
    "webhooks_unwell", "Webhooks that are failing, or disabled after days of it.", "state"
)

# The database
WRITER_SECONDS = _histogram("writer_transaction_seconds", "One transaction of the writer thread.", FAST)
WRITER_BATCH = _histogram(
    "writer_transaction_operations", "Operations in it.", (1, 2, 4, 8, 16, 32, 64, 128, 256)
)
WRITER_QUEUE = _gauge("writer_queue", "Operations that wait for the writer thread.")
WRITER_FAILURES = _counter("writer_failures", "Operations that failed.", "reason")
POOL_THREADS = _gauge(
    "pool_threads", "Threads of a pool at the most; each keeps one database connection.", "pool"
)
POOL_BUSY = _gauge("pool_busy", "Threads of a pool that work.", "pool")
POOL_WAITING = _gauge("pool_waiting", "Calls that wait for a thread of a pool.", "pool")

# HTTP
HTTP_SECONDS = _histogram(
    "http_request_seconds", "Requests, by method and by kind of status.", HUMAN, "method", "status"
)

# The machine
DISK_FREE = _gauge("disk_free_bytes", "Free space where the data directory is.")


def run_begins() -> None:
    RUNS_STARTED.inc()
    RUNS_RUNNING.inc()


def run_ends(outcome: str) -> None:
    RUNS_ENDED.labels(outcome).inc()
    RUNS_RUNNING.dec()
