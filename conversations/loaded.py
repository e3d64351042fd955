"""One conversation in this process's memory: its commands, its run, its stop."""

import asyncio
import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any, Literal

from django.db.models import F
from openhands.sdk.event import ConversationStateUpdateEvent, InterruptEvent

from agentserver import live, threads, writer
from agentserver.causes import causes, is_database_trouble
from agentserver.observability import logs
from conversations import accounts, commands, dispatch, intents, processes, subagents, titles
from conversations.lanes import Lane, Lanes
from conversations.models import Command, Conversation, Status
from conversations.sdkconversation import RunnerConversation
from conversations.shown import Shown
from conversations.store import DatabaseFileStore, Fenced

logger = logging.getLogger(__name__)

Stop = Literal["pause", "interrupt", "hand_over"]
HANDED_OVER = "Tool call cut off: its runner was stopped. It was not executed again."
LEASE_SECONDS = 2.0
"""A step that begins longer than this after the last look at the row looks again whether it is ours."""
INTERRUPTED = "Tool call interrupted before completion. The conversation was paused."


def _resolve(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def _on_thread(function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)`` on a thread of the lane."""
    return await asyncio.to_thread(threads.with_connections, function, *args)


class Loaded:
    """Thread-safe. Methods that touch the SDK's conversation are called on worker threads only."""

    def __init__(
        self,
        store: DatabaseFileStore,
        conversation: RunnerConversation,
        lanes: Lanes,
        request: dict[str, Any],
    ) -> None:
        self.id: uuid.UUID = store.conversation_id
        self.store, self.conversation, self._lanes, self.request = store, conversation, lanes, request
        self.used_at = time.monotonic()
        # Guards what follows; held for moments and for the statement that settles a run.
        self._mutex = threading.RLock()
        self.running = False
        self._run_number = 0
        self._stop: Stop | None = None
        self._stop_length = 0  # events in the log when the stop came
        self._pending_stop: tuple[int, Stop] = (0, "pause")
        self._task: asyncio.Task[None] | None = None
        self._lane: Lane | None = None
        self.ending_since: float | None = None  # when the run was interrupted or came to its end
        self._ends: dict[int, Future[None]] = {}
        self.over: Future[None] = Future()  # of what ``start`` began
        self._verified_at = time.monotonic()
        self._account = accounts.Account(self.id)
        # Serialises the carrying out of commands.
        self._hand = threading.Lock()
        self._delivered_intent = 0
        self.wants_title = False
        self.family = subagents.Family()
        self.goal: Any = None  # the GoalStatus that is pursued
        self.judging: Future[Any] | None = None
        self.closed = False
        # Told when rows could not be written: what is in memory may be ahead of them.
        self.on_trouble: Callable[[uuid.UUID, BaseException], None] = lambda *_: None
        self._shown = Shown(conversation, lambda: self.running)
        conversation.before_step = self._before_step
        store.shown_status = self._shown.status

    # What is shown

    def watch_stats(self) -> None:
        """Plugins and switches bring other models, whose statistics are told as well."""
        self._shown.watch_stats()

    def tell_full_state(self) -> None:
        live.transient(self.store.group, {"type": "full_state"})

    # Commands

    def deliver(self) -> None:
        """Carry out the commands that wait, in order. Worker thread; may wait for a tool to end."""
        with self._hand:
            self.used_at = time.monotonic()
            last = 0
            while not self.closed:
                command = (
                    Command.objects.filter(conversation_id=self.id, number__gt=last, failure="")
                    .order_by("number")
                    .first()
                )
                if command is None:
                    return
                last = command.number
                self._carry_out(command)

    def _carry_out(self, command: Command) -> None:
        try:
            result = commands.carry_out(self, command)
        except Fenced as error:
            commands.resolve(command.number, error=error)
            raise
        except Exception as error:
            if is_database_trouble(error):
                self.on_trouble(self.id, error)
                commands.resolve(command.number, None)  # it is stored: it will be carried out
                raise
            logger.warning("Command %s of %s failed: %s", command.kind, self.id, type(error).__name__)
            self._refuse(command, error)
            commands.resolve(command.number, error=error)
            return
        if command.run:
            with self._mutex:
                self._delivered_intent = max(self._delivered_intent, command.number)
        writer.current().call(lambda: Command.objects.filter(number=command.number).delete())
        commands.resolve(command.number, result)

    def _refuse(self, command: Command, error: Exception) -> None:
        """A command that cannot be carried out asks for nothing any more."""

        def record() -> None:
            Conversation.objects.filter(id=self.id, intent=command.number).update(intent=None)
            dispatch.refuse(command.number, error)

        writer.current().call(record)

    # Running

    def after_message(self) -> None:
        """A message was recorded: the first one may give the conversation its title."""
        if self.wants_title:
            self.wants_title = False
            threads.waiting().submit(titles.make, self)

    def start(self, lane: Lane, number: int) -> None:
        """Begin run ``number`` in ``lane``; the caller has claimed it. The lane goes back by itself."""
        with self._mutex:
            self.running, self._lane, self.over = True, lane, Future()
            self._begin(number)
        lane.run(self._drive(lane, self.over))

    def _begin(self, number: int) -> None:
        self._run_number, self.ending_since = number, None
        self.store.run_number = number
        self._account.begin(number)
        self._ends.setdefault(number, Future())
        pending, stop = self._pending_stop
        self._stop = stop if pending == number else None
        self._stop_length = len(self.conversation.state.events)

    @property
    def run_number(self) -> int:
        return self._run_number

    async def _drive(self, lane: Lane, over: Future[None]) -> None:
        """On the lane's loop: runs until no unseen input asks for another.

        Once the row is settled the next run may begin in another lane, before this one is left.
        """
        logs.bind(conversation_id=self.id)
        try:
            while True:
                await _on_thread(self.deliver)
                taken = self._delivered_intent
                await self._run_once()
                await self._judge_goal()
                if not await _on_thread(self._wrap_up, taken):
                    break
        except Exception as error:
            if not isinstance(error, (Fenced, LookupError)) and not is_database_trouble(error):
                logger.exception("The run of %s broke off", self.id)
            await _on_thread(self._give_up, error)
        finally:
            self._lanes.release(lane)
            _resolve(over)

    async def _run_once(self) -> None:
        with self._mutex:
            if self._stop is not None:
                return  # stopped before it began
            self.watch_stats()  # plugins and switches bring other models
            subagents.running_for.set(self.family)
            self._account.enter()
            self._task = asyncio.create_task(self.conversation.arun(), name=f"run-{self.id.hex}")
        try:
            await asyncio.wait({self._task})
            if not self._task.cancelled() and (error := self._task.exception()):
                # Recorded by the SDK as an event; Fenced is not, and ends the run.
                logger.info("The run of %s ended with %s", self.id, type(error).__name__)
                if any(isinstance(cause, Fenced) for cause in causes(error)):
                    raise Fenced(str(error))
                if is_database_trouble(error):
                    raise error
        finally:
            with self._mutex:
                self._task = None
                self._account.cut_off()

    async def _judge_goal(self) -> None:
        from conversations import goals

        finished = self.conversation.state.execution_status.value == Status.FINISHED
        with self._mutex:
            if self.goal is None or not finished or self._stop is not None:
                return
            self._task = asyncio.create_task(goals.judge(self), name=f"judge-{self.id.hex}")
        await asyncio.wait({self._task})
        with self._mutex:
            task, self._task = self._task, None
        if not task.cancelled() and (error := task.exception()):
            logger.warning("The goal of %s cannot be judged: %s", self.id, type(error).__name__)

    def _before_step(self) -> None:
        """With the state lock held, on the lane's loop: note what the step sees, heed a pause."""
        with self._mutex:
            number, self._delivered_intent = self._delivered_intent, 0
            stop = self._stop
        self._verify()
        self._account.step()
        if number:
            writer.current().submit(lambda: intents.seen(self.id, number))
        if stop == "pause":
            self.conversation.pause()
        elif stop == "hand_over":
            self._set_status(Status.PAUSED)  # ends the loop; nobody is told

    def _verify(self) -> None:
        """A process that was frozen must not ask a model beside its successor. Raises Fenced."""
        now = time.monotonic()
        if now - self._verified_at > LEASE_SECONDS:
            if not writer.current().call(self.store.is_current):
                raise Fenced(f"Conversation {self.id} is no longer this process's to run.")
            self._verified_at = now

    def _wrap_up(self, taken: int) -> bool:
        """After a run: end what it left, then show its end. True: unseen input asks for another."""
        self.ending_since = self.ending_since or time.monotonic()
        self._finish_stop()
        writer.current().call(lambda: intents.seen(self.id, taken))
        with self._mutex:
            status = self.conversation.state.execution_status.value
            if status == Status.RUNNING:  # the run ended without saying how
                status = self._set_status(Status.ERROR)
            if self._stop == "hand_over" and status in (Status.PAUSED, Status.IDLE):
                return self._pass_on()
            following = self._settle(status)
            ended = self._run_number
            self._account.end(ended, status)
            if following:
                self._begin(following)
            else:
                self._rest()
        if not following:
            self.tell_full_state()
        self._resolve_end(ended)
        return following > 0

    def _pass_on(self) -> bool:
        """Hand the run to whoever takes its job: to users it just goes on. With the mutex held."""
        self._set_status(Status.IDLE)  # the row still says running
        self._shown.take_held()

        def passed() -> None:
            ours = Conversation.objects.running().filter(id=self.id, run_epoch=self.store.epoch)
            if ours.update(run_number=F("run_number") + 1, runner=""):
                dispatch.enqueue(self.id)

        writer.current().call(passed)
        number = self._run_number
        self._rest()
        self._resolve_end(number)
        return False

    def _rest(self) -> None:
        """Nothing goes on any more. With the mutex held."""
        self.running, self._lane, self.ending_since = False, None, None
        self.used_at = time.monotonic()

    def _finish_stop(self) -> None:
        """Make the stop that was asked for complete: processes gone, calls answered, paused."""
        with self._mutex:
            stop = self._stop
        conversation = self.conversation
        if stop == "interrupt":
            processes.end_commands(conversation)
            conversation.answer_orphans(INTERRUPTED)
            with conversation.state as state:
                unheard = state.execution_status.value in (Status.IDLE, Status.RUNNING, Status.PAUSED)
                if unheard and not self._interrupted_by_sdk():
                    # It came before the SDK could note it: while the agent was initialising.
                    state.execution_status = type(state.execution_status)(Status.PAUSED)
                    conversation.emit(InterruptEvent())
        elif stop == "hand_over":
            processes.end_commands(conversation)
            conversation.answer_orphans(HANDED_OVER)
        elif stop == "pause":
            conversation.pause()  # only an idle conversation is still to be paused

    def _interrupted_by_sdk(self) -> bool:
        events = self.conversation.state.events
        for index in range(len(events) - 1, max(-1, len(events) - 20), -1):
            if isinstance(events[index], InterruptEvent):
                return index >= self._stop_length
        return False

    def _set_status(self, status: str) -> str:
        with self.conversation.state as state:
            state.execution_status = type(state.execution_status)(status)
        return status

    def force_status(self, status: str) -> None:
        """Recovery: what a dead process left as running is at rest now."""
        self._set_status(status)

    def _settle(self, status: str) -> int:
        """Show the end of a run: its last events, and in the last one's transaction the row's status.

        Returns the number of the next run if unseen input asks for one, else 0.
        """
        asked = Conversation.objects.filter(id=self.id, intent__isnull=False).exists()
        news = [event for event in (self._shown.take_held(), None if asked else self._goal_news()) if event]

        def settle() -> int:
            return intents.settle(self.id, self.store.epoch, status)

        if not news or asked:
            for event in news:
                self.conversation.emit(event)
            return writer.current().call(settle)
        for event in news[:-1]:
            self.conversation.emit(event)
        with self.store.together(settle) as results:
            self.conversation.emit(news[-1])
        return results[-1]

    def _goal_news(self) -> ConversationStateUpdateEvent | None:
        from conversations import goals

        return goals.ended(self)

    def _give_up(self, error: Exception) -> None:
        """The run broke off: show an error if the row is still ours, and can be written."""
        try:
            if not is_database_trouble(error):
                self._show_error()
        except Exception as trouble:
            error = trouble
        if is_database_trouble(error):
            self.on_trouble(self.id, error)
        with self._mutex:
            self._rest()
            ended = self._run_number
            self._account.end(ended, Status.ERROR)
        self._resolve_end(ended)

    def _show_error(self) -> None:
        self._set_status(Status.ERROR)
        if (event := self._shown.take_held()) is not None:
            self.conversation.emit(event)
        rows = Conversation.objects.filter(id=self.id, run_epoch=self.store.epoch, status=Status.RUNNING)
        writer.current().call(lambda: rows.update(status=Status.ERROR, intent=None))

    def _resolve_end(self, number: int) -> None:
        if (end := self._ends.pop(number, None)) is not None:
            _resolve(end)

    # Stopping

    def stop(self, kind: Stop, number: int, asked_at: float | None = None) -> Future[None] | None:
        """Stop run ``number``. Returns at once: a future of its end, None if it is over. Worker thread.

        pause: no further step starts. interrupt: the call in flight is dropped and the command that
        runs is ended. A run that was claimed and has not begun here is stopped when it begins.
        """
        with self._mutex:
            if self._run_number > number or (self._run_number == number and not self.running):
                return None
            end = self._ends.setdefault(number, Future())
            if kind == "interrupt":
                self._account.interrupt(number, asked_at or time.monotonic())
            if self._run_number < number:
                self._pending_stop = (number, kind)
            elif self._stop != "interrupt" and self._stop != kind:
                self._stop = kind
                self._stop_length = len(self.conversation.state.events)
                self._cancel() if kind == "interrupt" else self._pause_now()
            return end

    def hand_over(self, *, cut_off: bool) -> None:
        """End the run that goes on, if any, after its step or at once; another runner goes on with it."""
        with self._mutex:
            if self.running and self._stop is None:
                self._stop, self._stop_length = "hand_over", len(self.conversation.state.events)
            if self.running and cut_off and self._stop == "hand_over":
                self._cancel()

    def shut_down(self) -> Future[None] | None:
        """Interrupt the run that goes on, if any, because the server ends."""
        with self._mutex:
            return self.stop("interrupt", self._run_number) if self.running else None

    def _pause_now(self) -> None:
        """Record the pause at once while the model is asked: then the lock is free.

        While a tool holds it, the next step is where the pause is heeded.
        """
        self.family.pause()
        state = self.conversation.state
        if state.acquire(blocking=False):
            try:
                if state.execution_status.value == Status.RUNNING:
                    self.conversation.pause()
            finally:
                state.release()

    def _cancel(self) -> None:
        self.ending_since = time.monotonic()
        token = self.conversation.cancel_token
        if token is not None:
            token.cancel()
        if self._task is not None and self._lane is not None:
            self._lane.loop.call_soon_threadsafe(self._task.cancel)
        if self.judging is not None:
            self.judging.cancel()
        self.family.interrupt()
        # At once: a tool that does not heed Ctrl-C would keep the loop from hearing the cancel.
        threads.waiting().submit(processes.end_commands, self.conversation)

    # Leaving

    def abandon(self) -> Lane | None:
        """Give up on a run that does not end; its lane, which may hang for ever. Takes no lock."""
        self.closed, lane, self._lane = True, self._lane, None
        _resolve(self.over)
        for number in list(self._ends):
            self._account.end(number, "abandoned")
            self._resolve_end(number)
        return lane

    def settle_abandoned(self) -> None:
        """Bring the row of a run that another Loaded was abandoned with to rest: it was interrupted."""
        self.conversation.answer_orphans(INTERRUPTED)
        self._set_status(Status.PAUSED)
        self.conversation.emit(InterruptEvent())
        writer.current().call(lambda: intents.rest(self.id, self.store.epoch))
        self.tell_full_state()

    @contextlib.contextmanager
    def at_rest(self) -> Generator[bool]:
        """Whether nothing goes on; while the block runs, nothing begins."""
        if not self._hand.acquire(blocking=False):
            yield False
            return
        try:
            with self._mutex:
                yield not self.running
        finally:
            self._hand.release()

    def close(self) -> None:
        """Release tools and shells. Worker thread."""
        if not self.closed:
            self.closed = True
            self.conversation.before_step = None
            self.conversation.close()
