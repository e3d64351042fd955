"""What a conversation's runs are counted as: their beginnings, steps, stops and ends."""

import time
import uuid
from typing import Any

from agentserver.observability import metrics, tracing
from conversations.models import Status


class Account:
    """Of one conversation. Called under the mutex of its Loaded, or by the one thread that ends a run."""

    def __init__(self, conversation_id: uuid.UUID) -> None:
        self._id = conversation_id
        self._going: dict[int, Any] = {}  # each run's span
        self._steps = 0
        self._newest = 0
        self._interrupted: tuple[int, float] = (0, 0.0)

    def begin(self, number: int) -> None:
        self._going[number] = tracing.begin_run(self._id, number)
        self._newest, self._steps = number, 0
        metrics.run_begins()

    def enter(self) -> None:
        """What this task starts belongs to the newest run."""
        tracing.current.set(self._going.get(self._newest))

    def step(self) -> None:
        self._steps += 1
        metrics.STEPS.inc()

    def interrupt(self, number: int, asked_at: float) -> None:
        """Somebody asked to interrupt run ``number``, then by ``time.monotonic``; the first counts."""
        if self._interrupted[0] != number:
            self._interrupted = number, asked_at

    def cut_off(self) -> None:
        """The call in flight, if there was one, is no more: its connection has been closed."""
        self._observe("cut_off", self._newest)

    def end(self, number: int, outcome: str) -> None:
        """Run ``number`` is over; a number that did not begin here is nothing."""
        if number not in self._going:
            return
        span = self._going.pop(number)
        self._observe("over", number)
        if self._interrupted[0] == number and outcome == Status.PAUSED:
            outcome = "interrupted"
        metrics.run_ends(str(outcome))
        tracing.end_run(span, str(outcome), self._steps)

    def _observe(self, until: str, number: int) -> None:
        interrupted, asked_at = self._interrupted
        if interrupted == number:
            metrics.INTERRUPT.labels(until).observe(time.monotonic() - asked_at)
