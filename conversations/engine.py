"""The dispatcher of many processes: runs are jobs of procrastinate, which any runner may take.

What is asked of a conversation stands in its rows. A job says that something does, and its lock lets
one runner at a time look after a conversation; to a runner that does so already a ring says it too.
Requests wait for what comes of it by looking at the rows.
"""

import contextlib
import json
import logging
import time
import uuid
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction

from agentserver import conf, live, sdk, threads, writer
from agentserver.errors import NotFound, Problem, TooMany
from conversations.local import BUSY_SECONDS, DELIVERY_SECONDS, STOP_SECONDS
from conversations.models import Command, Conversation, Status

if TYPE_CHECKING:
    from conversations.lanes import Lane
    from conversations.loaded import Loaded

logger = logging.getLogger(__name__)

RELEASE_SECONDS = 2.0
"""How long a deletion waits for a runner that merely has the conversation in memory."""
FIRST_LOOK, LONGEST_LOOK = 0.005, 0.05
"""Seconds between two looks at a row: they grow to this."""


def group_of(runner: str) -> str:
    """Where a runner process hears that something is asked of a conversation it has."""
    return f"runner.{runner}"


def reserve() -> None:
    """Runners have their own lanes; what is bounded here is how many may wait for them."""
    if Conversation.objects.running().count() >= conf.current().max_queued_runs:
        raise TooMany()


def release(lane: "Lane | None") -> None:
    """Nothing was reserved."""


def enqueue(conversation_id: uuid.UUID) -> None:
    from procrastinate.exceptions import AlreadyEnqueued

    from conversations import tasks

    name = str(conversation_id)
    queue = Conversation.objects.values_list("queue", flat=True).get(id=conversation_id)
    try:
        with transaction.atomic():  # a savepoint: the refusal must not undo what is asked
            tasks.tend.configure(queue=queue, lock=name, queueing_lock=name).defer(conversation_id=name)
    except AlreadyEnqueued:  # the job that waits will see it
        pass


def created(loaded: "Loaded", number: int, lane: "Lane | None") -> None:
    """It was only made here; its runner loads it."""
    threads.waiting().submit(loaded.close)


def run(conversation_id: uuid.UUID, number: int, lane: "Lane | None") -> None:
    """The job that stands with the run begins it, unless a runner has the conversation already."""
    _ring(conversation_id)


def deliver(conversation_id: uuid.UUID) -> None:
    _ring(conversation_id)


def stop(conversation_id: uuid.UUID, kind: str, number: int, asked_at: float) -> None:
    _ring(conversation_id)
    if kind != "interrupt":
        return
    going = Conversation.objects.running().filter(id=conversation_id, run_number=number)
    if not _wait_until(lambda: not going.exists(), STOP_SECONDS):
        logger.warning("The interrupted run of %s takes longer than %s s", conversation_id, STOP_SECONDS)


def forget(conversation_id: uuid.UUID, number: int) -> None:
    """Wait until the runner that has it, if one does, has let it go; a dead one is fenced by the deletion."""
    _ring(conversation_id)
    held = Conversation.objects.filter(id=conversation_id).exclude(runner="")
    if not _wait_until(lambda: not held.exists(), STOP_SECONDS if number else RELEASE_SECONDS):
        logger.warning("The runner of the deleted %s did not answer", conversation_id)


def refuse(number: int, error: Exception) -> None:
    Command.objects.filter(number=number).update(failure=told(error), run=False)


def give_up(conversation_id: uuid.UUID, error: Exception) -> None:
    """No runner can look after it: it asks for nothing any more, and who waits is told."""

    def record() -> None:
        ours = Conversation.objects.living().filter(id=conversation_id)
        ours.running().update(status=Status.ERROR)
        ours.update(intent=None)
        Command.objects.filter(conversation_id=conversation_id, failure="").update(
            failure=told(error), run=False
        )

    writer.current().call(record)


@contextlib.contextmanager
def consulted(conversation_id: uuid.UUID) -> Generator[Any]:
    """A copy for questions: it writes nothing, so it stands in nobody's way."""
    sdk.require()
    from conversations import building, runner

    row = Conversation.objects.living().filter(id=conversation_id).first()
    if row is None:
        raise NotFound()
    copy = building.load(row, runner.current().lanes, frozen=True)
    try:
        yield copy.conversation
    finally:
        threads.waiting().submit(copy.close)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The outcome of a command that another process carries out: its row goes, or says why not."""

    number: int

    def result(self, *, busy: bool) -> Any:
        rows = Command.objects.filter(number=self.number).values_list("failure", flat=True)
        seen: list[str] = []

        def done() -> bool:
            seen[:] = rows[:1]
            return not seen or bool(seen[0])

        if _wait_until(done, BUSY_SECONDS if busy else DELIVERY_SECONDS) and seen:
            writer.current().call(lambda: Command.objects.filter(number=self.number).delete())
            raise failure(seen[0])


def expect(number: int) -> Elsewhere:
    return Elsewhere(number)


def told(error: Exception) -> str:
    """``error`` as a command's row holds it."""
    if isinstance(error, Problem):
        return json.dumps({"status": error.status_code, "body": error.body})
    return json.dumps({"kind": type(error).__name__})


def failure(text: str) -> Exception:
    """The error that ``told`` wrote, as it was or as a RuntimeError."""
    said = json.loads(text)
    if "status" not in said:
        return RuntimeError(said["kind"])
    error = Problem()
    error.status_code, error.body = said["status"], said["body"]
    return error


def _ring(conversation_id: uuid.UUID) -> None:
    runner = Conversation.objects.filter(id=conversation_id).values_list("runner", flat=True).first()
    if runner:
        live.transient(group_of(runner), conversation_id.hex)


def _wait_until(check: Callable[[], bool], seconds: float) -> bool:
    deadline, pause = time.monotonic() + seconds, FIRST_LOOK
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_LOOK)
    return True
