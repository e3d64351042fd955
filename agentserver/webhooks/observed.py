"""What operators see of webhooks: the backlog in the metrics, their state in ``/ready``."""

import math
from collections.abc import Callable

from agentserver.observability import health, metrics
from agentserver.webhooks import reads


def register() -> None:
    """Once, when the app is ready."""
    metrics.WEBHOOK_EVENTS.set_function(_counted("events"))
    metrics.WEBHOOK_CONVERSATIONS.set_function(_counted("conversations"))
    for state in ("failing", "disabled"):
        metrics.WEBHOOKS_UNWELL.labels(state).set_function(_counted(state))
    health.register("webhooks", _state)


def _counted(name: str) -> Callable[[], float]:
    """A function that says how much waits; not a number while the database is away."""

    def count() -> float:
        try:
            return reads.backlog()[name]
        except Exception:  # of the database: the other metrics are to be seen all the same
            return math.nan

    return count


def _state() -> str:
    """Receivers that fail make nobody wait: told, and no reason to keep clients away."""
    backlog = reads.backlog()
    return "failing" if backlog["failing"] or backlog["disabled"] else "ok"
