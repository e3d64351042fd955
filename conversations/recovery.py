"""At start: conversations whose runner died come back usable, and what was asked is carried out."""

import asyncio
import logging
import uuid

from agentserver import conf, lifespan, sdk, threads, writer
from conversations import intents, tmux
from conversations.models import Conversation, Status

logger = logging.getLogger(__name__)

CRASHED = "Tool call cut off: the server stopped before it had a result. It was not executed again."
IDLE_CHECK_SECONDS = 30


def recover() -> None:
    """Bring every conversation that a dead process held to rest, then run what is outstanding.

    For the one process on its database: any row that says running is stale. Worker thread.
    """
    sdk.load()
    for conversation_id in Conversation.objects.running().values_list("id", flat=True):
        try:
            _bring_to_rest(conversation_id)
        except Exception:
            logger.exception("Conversation %s could not be recovered", conversation_id)
            rows = Conversation.objects.filter(id=conversation_id)
            writer.current().call(lambda rows=rows: rows.update(status=Status.ERROR, intent=None))
    for conversation_id in Conversation.objects.filter(status=Status.DELETING).values_list("id", flat=True):
        rows = Conversation.objects.filter(id=conversation_id)
        writer.current().call(lambda rows=rows: rows.delete())
    from conversations import dispatch

    for conversation_id in intents.outstanding():
        dispatch.deliver(conversation_id)


def _bring_to_rest(conversation_id: uuid.UUID) -> None:
    from conversations import goals, runner

    loaded = runner.current().get(conversation_id)
    state = loaded.conversation.state
    cut_off = state.execution_status.value == Status.RUNNING
    if state.execution_status.value != Status.WAITING:  # there, calls without a result are as they should be
        loaded.conversation.answer_orphans(CRASHED)
    resume = cut_off and conf.current().crash_recovery == "resume"
    if cut_off:
        loaded.force_status(Status.IDLE if resume else Status.ERROR)
    goals.interrupted_by_crash(loaded)
    status = state.execution_status.value
    rows = Conversation.objects.filter(id=conversation_id)
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
        if beats % IDLE_CHECK_SECONDS == 0:
            seconds = configuration.conversation_idle_ttl_seconds
            await threads.run_in(threads.waiting(), here.unload_idle, seconds)


async def start() -> None:
    await threads.run_in(threads.waiting(), tmux.reap)
    tmux.use_private_directory()
    await threads.run_in(threads.waiting(), recover)
    lifespan.watch(asyncio.create_task(keep_house(), name="keep-house"))


async def stop() -> None:
    if not sdk.ready():
        return
    from conversations import runner

    await threads.run_in(threads.waiting(), runner.current().close, 8.0)
    await threads.run_in(threads.waiting(), tmux.clean_up)
