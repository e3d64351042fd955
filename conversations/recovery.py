"""At start: conversations whose runner died come back usable, and what was asked is carried out."""

import asyncio
import logging
from typing import TYPE_CHECKING

from agentserver import conf, lifespan, sdk, threads, writer
from agentserver.observability import reserve
from conversations import intents, removal, tallies, tmux
from conversations.models import Conversation, Status

if TYPE_CHECKING:
    from conversations.loaded import Loaded

logger = logging.getLogger(__name__)

CRASHED = "Tool call cut off: the server stopped before it had a result. It was not executed again."
IDLE_CHECK_SECONDS = 30
SERVER_DRAIN_SECONDS = 6.0
"""What a server that is a runner too lets steps take when it ends."""


def recover() -> None:
    """Bring every conversation that a dead process held to rest, then run what is outstanding.

    For the one process on its database: any row that says running is stale. Worker thread.
    """
    sdk.load()
    from conversations import runner

    for conversation_id in Conversation.objects.running().values_list("id", flat=True):
        try:
            here = runner.current()
            loaded = here.get(conversation_id)
            bring_to_rest(loaded, CRASHED)
            if number := here.claimed(loaded):
                here.start(conversation_id, number, None)
        except Exception:
            logger.exception("Conversation %s could not be recovered", conversation_id)
            rows = Conversation.objects.filter(id=conversation_id)
            writer.current().call(lambda rows=rows: rows.update(status=Status.ERROR, intent=None))
    for conversation_id in Conversation.objects.filter(status=Status.DELETING).values_list("id", flat=True):
        writer.current().call(lambda conversation_id=conversation_id: removal.remove(conversation_id))
    from conversations import dispatch

    for conversation_id in intents.outstanding():
        dispatch.deliver(conversation_id)


def bring_to_rest(loaded: "Loaded", cut_off_call: str, said: str = "", claimed: int = 0) -> None:
    """Bring the rows of a conversation that was just loaded from them to rest. Worker thread.

    A run that was claimed and has not begun, or was handed over, is left to be begun.
    ``said``: what clients are told about how the run ended. ``claimed``: a run that is about to
    begin, whose status stays.
    """
    from conversations import goals

    row = Conversation.objects.only("status", "run_number", "begun_run", "stop_run").get(id=loaded.id)
    state = loaded.conversation.state
    cut_off, stopped = state.execution_status.value == Status.RUNNING, row.stop_run == row.run_number
    to_begin = row.status == Status.RUNNING and row.begun_run < row.run_number
    resume = cut_off and not stopped and not to_begin and conf.current().crash_recovery == "resume"
    # Meanwhile the row keeps the status of the run that was found: its end is shown last.
    if state.execution_status.value != Status.WAITING:  # there, calls without a result are as they should be
        loaded.conversation.answer_orphans(cut_off_call)
    if cut_off and said and not resume:
        loaded.conversation.emit_error("StorageError", said)
    if cut_off:
        loaded.force_status(Status.PAUSED if stopped else Status.IDLE if resume else Status.ERROR)
    if to_begin:
        goals.taken_over(loaded)
        return
    goals.interrupted_by_crash(loaded)
    status = state.execution_status.value
    # Only the run that was found: a later one may have been claimed meanwhile.
    found = {"id": loaded.id, "run_epoch": loaded.store.epoch, "run_number": row.run_number}
    rows = Conversation.objects.living().filter(**found).exclude(run_number=claimed)
    writer.current().call(lambda: rows.update(status=status, **({"intent": 0} if resume else {})))


async def keep_house() -> None:
    """Every second give up runs that do not end; every half minute unload what has been idle for long."""
    from conversations import runner

    configuration, beats = conf.current(), 0
    while True:
        await asyncio.sleep(1)
        beats += 1
        here = runner.current()
        await threads.run_in(threads.waiting(), here.abandon_hung, configuration.wrap_up_seconds)
        await threads.run_in(threads.waiting(), here.mending.go_on)
        seconds = configuration.conversation_idle_ttl_seconds
        if beats % max(1, min(IDLE_CHECK_SECONDS, int(seconds))) == 0:
            await threads.run_in(threads.waiting(), here.unload_idle, seconds)
            await threads.run_in(threads.waiting(), reserve.keep)
            await threads.run_in(threads.waiting(), tallies.keep)


async def start() -> None:
    """In the server: recover and run conversations, or leave both to the engine's runners."""
    if conf.current().engine:
        if conf.current().runs_conversations:
            await start_runner()
        return
    await _prepare()
    await threads.run_in(threads.waiting(), recover)
    await threads.run_in(threads.waiting(), reserve.keep)
    lifespan.watch(asyncio.create_task(keep_house(), name="keep-house"))


async def start_runner() -> None:
    """Be one of the engine's runners. On the loop that the hub is bound to."""
    await _prepare()
    await threads.run_in(threads.waiting(), sdk.load)
    # It imports the SDK, which breaks when two threads do so at once: not before it is loaded.
    from conversations import worker

    await worker.start()
    lifespan.watch(asyncio.create_task(keep_house(), name="keep-house"))


async def _prepare() -> None:
    tmux.use_private_directory()
    await threads.run_in(threads.waiting(), tmux.reap)


async def stop() -> None:
    """In the server, which has to be gone in fifteen seconds."""
    await stop_runner(min(SERVER_DRAIN_SECONDS, conf.current().drain_seconds))


async def stop_runner(drain_seconds: float) -> None:
    if not sdk.ready():
        return
    from conversations import runner, worker

    if conf.current().engine:
        await worker.drain(drain_seconds)
    await threads.run_in(threads.waiting(), runner.current().close, 8.0)
    await threads.run_in(threads.waiting(), tmux.clean_up)
