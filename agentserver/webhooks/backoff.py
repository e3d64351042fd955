"""When a failed post is tried again."""

import random

from agentserver.webhooks.hooks import Hook

LONGEST = 300
"""Seconds between two tries at the most, so that a receiver that is back hears within five minutes."""
SHORTEST = 0.5
"""Seconds before the first try after the repetitions, where the webhook asks for no delay."""


def delay(hook: Hook, failures: int, retry_after: float | None, spread: float | None = None) -> float:
    """Seconds before the next try, after ``failures`` in a row: the webhook's own delay for its
    repetitions, then twice as long each time. What the receiver asks for counts instead.

    ``spread``: 0 to 1, by default at random, so that many conversations do not come back at once.
    """
    spread = random.random() if spread is None else spread  # noqa: S311
    if retry_after is not None:
        return retry_after + spread * min(1, retry_after)
    if failures <= hook.num_retries:
        wait = hook.retry_delay
    else:
        wait = max(hook.retry_delay, SHORTEST) * 2 ** min(failures - hook.num_retries - 1, 20)
    return min(wait, LONGEST) * (0.75 + spread / 2)
