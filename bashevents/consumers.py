"""``/sockets/bash-events``: what the server's own shell does, and commands for it."""

from typing import Any

from pydantic import ValidationError

from agentserver import api, threads
from agentserver.errors import Problem
from agentserver.sockets import Refused, TailingConsumer
from bashevents import services
from bashevents.models import GROUP, BashEvent
from bashevents.serializers import ExecuteRequest, error_frame

REPLAY_SIZE = 8 * 1024 * 1024
"""Characters of history read at once."""


class BashEventConsumer(TailingConsumer):
    """Frames are the stored events; ``?resend_mode=all`` (or ``resend_all=true``) begins with the history."""

    kind = "bash"

    async def prepare(self) -> None:
        mode = self.query.get("resend_mode", [""])[-1]
        flag = self.query.get("resend_all", [""])[-1].lower()
        if mode not in ("", "all", "none") or flag not in ("", "true", "false", "1", "0"):
            raise Refused
        self.replay = mode == "all" or flag in ("true", "1")

    async def open(self) -> None:
        await self.subscribe(GROUP)
        self.follow(0 if self.replay else await threads.run_in(threads.reading(), BashEvent.objects.newest))

    async def rows_after(self, sequence: int, limit: int) -> list[tuple[int, str]]:
        return await threads.run_in(threads.reading(), _rows_after, sequence, limit)

    async def heard(self, text: str | None, data: bytes | None) -> None:
        """Run a command ``{"command", "cwd", "timeout"}``; its events come to all sockets."""
        try:
            body = _parse((text or "").encode("utf-8", "replace") or data or b"")
        except ValueError:
            detail = (
                'Send {"command": "...", "cwd": "...", "timeout": SECONDS}; the last two may be left out.'
            )
            await self.send(error_frame("ValidationError", detail))
            return
        if body is not None:
            await self._start(body)

    async def _start(self, body: ExecuteRequest) -> None:
        try:
            await threads.run_in(
                threads.requests(), lambda: services.start_command(scope=services.SERVER, body=body)
            )
        except Problem as problem:
            await self.send(error_frame(problem.code, str(problem.body["detail"])))


def _parse(raw: bytes) -> ExecuteRequest | None:
    """The command; None for a key that a client sends again. Raises ValueError."""
    try:
        message: Any = api.loads(raw)
        if isinstance(message, dict) and message.get("type") == "auth":
            return None
        return ExecuteRequest.model_validate(message)
    except (Problem, ValidationError):
        raise ValueError from None


def _rows_after(sequence: int, limit: int) -> list[tuple[int, str]]:
    """The next events, as many as a few MiB hold and at least one."""
    events = BashEvent.objects.of(None).filter(id__gt=sequence).order_by("id")
    numbers, total = [], 0
    for number, size in events.values_list("id", "size")[:limit]:
        total += size
        if total > REPLAY_SIZE and numbers:
            break
        numbers.append(number)
    return list(BashEvent.objects.filter(id__in=numbers).order_by("id").values_list("id", "payload"))
