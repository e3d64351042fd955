"""Sockets out: a conversation's events as they happen. They read rows and decide nothing."""

import json
import time
import uuid
from typing import Any

import orjson

from agentserver import api, conf, sdk, threads
from agentserver.errors import Invalid, Problem
from agentserver.sockets import PAGE, UNKNOWN, Refused, TailingConsumer
from conversations import reads, services, streams, unstored
from conversations.models import Conversation, Event, Status, group_of

JOIN_SECONDS = 1.0
"""How long a reader that joins waits for a runner elsewhere to say what has been said."""


class ConversationConsumer(TailingConsumer):
    """What both protocols share: finding the conversation, its rows, messages of the user."""

    async def prepare(self) -> None:
        self.conversation_id = uuid.UUID(self.scope["url_route"]["kwargs"]["conversation_id"])
        self.group = group_of(self.conversation_id)
        self.read_query()

    def read_query(self) -> None:
        """Raises Refused for what makes no sense."""

    def parameter(self, name: str) -> str | None:
        return self.query[name][-1] if name in self.query else None

    async def open(self) -> None:
        await self.subscribe(self.group)
        # Read after the subscription is effective: what is persisted from here on rings.
        row = await self._row()
        if row is None:
            await self.close(UNKNOWN)
        else:
            await self.greet(row)

    async def greet(self, row: Conversation) -> None:
        raise NotImplementedError

    async def _row(self) -> Conversation | None:
        return await threads.run_in(threads.reading(), _visible, self.conversation_id, self.principal)

    async def rows_after(self, sequence: int, limit: int) -> list[tuple[int, str]]:
        return await threads.run_in(threads.reading(), _payloads_after, self.conversation_id, sequence, limit)

    async def state_frame(self) -> str | None:
        """A fresh ``full_state`` update; never stored. None if the conversation is gone."""
        row = await self._row()
        return None if row is None else unstored.full_state(row)

    async def heard(self, text: str | None, data: bytes | None) -> None:
        try:
            message = api.loads((text or "").encode("utf-8", "surrogatepass"))
        except Invalid:
            await self.send(self.error_frame("InvalidMessage", "Send a user message as JSON text."))
            return
        if isinstance(message, dict) and message.get("type") == "auth":
            return  # a client that always sends its key must not be punished
        try:
            await threads.run_in(threads.waiting(), _send, self.conversation_id, self.principal, message)
        except Invalid:
            await self.send(self.error_frame("ValidationError", 'Send {"role": "user", "content": [...]}.'))
        except Problem as problem:
            await self.send(self.error_frame(problem.code, str(problem.detail)))

    async def missed(self) -> None:
        # Clients wait for the state after a run; they may get it twice, but not never. While a run
        # goes on there is nothing to tell: its end rings again.
        row = await self._row()
        if row is not None and row.status != Status.RUNNING:
            await self._push(self.shown(unstored.full_state(row)))

    def shown(self, event: str) -> str:
        """The frame of an event that is not stored."""
        return event

    def error_frame(self, code: str, detail: str) -> str:
        raise NotImplementedError


class EventConsumer(ConversationConsumer):
    """``/sockets/events/{id}``: the full state, then, if asked for, the history, then what happens."""

    def read_query(self) -> None:
        mode, after = self.parameter("resend_mode"), self.parameter("after_timestamp")
        everything = (self.parameter("resend_all") or "false").lower()
        if mode not in (None, "all", "since") or everything not in api.BOOLEANS:
            raise Refused
        self.mode = mode or ("all" if api.BOOLEANS[everything] else None)
        try:
            self.since = reads.stored_time(after, "after_timestamp") if after is not None else None
        except Invalid:
            raise Refused from None

    async def greet(self, row: Conversation) -> None:
        await self.send(unstored.full_state(row))
        sent = row.next_sequence - 1
        if self.mode == "all":
            sent = -1
        elif self.mode == "since" and self.since is not None:
            await self._resend_since(sent)
        self.follow(sent)

    async def _resend_since(self, through: int) -> None:
        """By their own times: an event may be stored a moment after one that is younger."""
        place = -1
        while rows := await threads.run_in(
            threads.reading(), _payloads_since, self.conversation_id, self.since, place, through
        ):
            for _, payload in rows:
                await self._push(payload)
            place = rows[-1][0]

    async def transient_frame(self, payload: Any) -> str | None:
        if payload["type"] == "full_state":
            return await self.state_frame()
        if payload["type"] == "delta":
            content = "content" if payload["kind"] == "text" else "reasoning_content"
            return unstored.event("StreamingDeltaEvent", source="agent", **{content: payload["content"]})
        return None

    def error_frame(self, code: str, detail: str) -> str:
        return unstored.event("ServerErrorEvent", source="environment", code=code, detail=detail)


class SessionConsumer(ConversationConsumer):
    """``/sockets/session/{id}``: numbered events that a client resumes by ``after_seq``, and streams."""

    kind = "session"

    def read_query(self) -> None:
        after = self.parameter("after_seq")
        try:
            self.after = None if after is None else int(after)
        except ValueError:
            raise Refused from None
        self._joined: dict[str, tuple[int, int]] = {}  # by stream: attempt and order it was given up to
        self._waits_until = 0.0  # for a runner's answer, by the monotonic clock
        self._held: list[dict[str, Any]] = []  # what came meanwhile: it may be in the answer, or follow it

    async def greet(self, row: Conversation) -> None:
        last = row.next_sequence - 1
        sync: dict[str, Any] = {"type": "sync"}
        if self.after is not None:
            sync["from_seq"] = self.after
        if last >= 0:
            sync["through_seq"] = last
        await self._push(json.dumps(sync))
        if self.after is not None and self.after < last:
            self.sent = max(self.after, -1)
            await self.catch_up(through=last)
        await self._push(self.shown(unstored.full_state(row)))
        if row.status == Status.RUNNING:
            await self._join(row)
        self.follow(last)

    async def _join(self, row: Conversation) -> None:
        """Say from its beginning what is being said; from a runner elsewhere it comes a moment later."""
        if frames := streams.so_far(self.group):
            await self._repeat(frames)
        elif conf.current().engine and row.runner:
            self._waits_until = time.monotonic() + JOIN_SECONDS
            streams.ask(row)

    async def _repeat(self, frames: list[dict[str, Any]]) -> None:
        """Of what rings beside them, what is in ``frames`` is left out."""
        ids = {frame["item_id"] for frame in frames}
        stored = await self._stored(ids)
        for frame in frames:
            if frame["item_id"] not in stored:
                place = frame["attempt"], frame.get("order", -1)
                self._joined[frame["item_id"]] = place
                await self._push(_text(frame))

    async def _release(self) -> None:
        """Nobody is waited for any more: what was held comes now, but what is known or said to its end."""
        self._waits_until = 0.0
        held, self._held = self._held, []
        stored = await self._stored({frame["item_id"] for frame in held}) if held else set()
        for frame in held:
            if frame["item_id"] not in stored and not self._is_known(frame):
                await self._push(_text(frame))

    async def _stored(self, ids: set[str]) -> set[str]:
        return await threads.run_in(threads.reading(), _stored, self.conversation_id, ids)

    def _is_known(self, payload: dict[str, Any]) -> bool:
        """Whether what this reader was given when it joined has it."""
        if payload["type"] not in ("item_started", "delta"):
            return False
        place = payload["attempt"], payload.get("order", -1)
        return place <= self._joined.get(payload["item_id"], (-1, -1))

    def shown(self, event: str) -> str:
        return f'{{"type":"transient","event":{event}}}'

    def frame(self, sequence: int, payload: str) -> str:
        return f'{{"type":"durable","seq":{sequence},"event":{payload}}}'

    async def transient_frame(self, payload: Any) -> str | None:
        if payload["type"] == "full_state":
            state = await self.state_frame()
            return None if state is None else self.shown(state)
        if payload["type"] == streams.SO_FAR:
            if self._waits_until:
                await self._repeat(payload["frames"])
                await self._release()
            return None
        if time.monotonic() < self._waits_until:
            self._held.append(payload)
            return None
        if self._waits_until:
            await self._release()
        return None if self._is_known(payload) else _text(payload)

    def error_frame(self, code: str, detail: str) -> str:
        return json.dumps({"type": "error", "code": code, "detail": detail})


def _text(frame: dict[str, Any]) -> str:
    return orjson.dumps({name: value for name, value in frame.items() if value is not None}).decode()


# Called on pool threads


def _visible(conversation_id: uuid.UUID, principal: Any) -> Conversation | None:
    return Conversation.objects.visible_to(principal).living().filter(id=conversation_id).first()


def _payloads_after(conversation_id: uuid.UUID, sequence: int, limit: int) -> list[tuple[int, str]]:
    rows = Event.objects.of(conversation_id).after(sequence)
    return list(rows.values_list("sequence", "payload")[:limit])


def _stored(conversation_id: uuid.UUID, event_ids: set[str]) -> set[str]:
    rows = Event.objects.of(conversation_id).filter(event_id__in=event_ids)
    return set(rows.values_list("event_id", flat=True))


def _payloads_since(
    conversation_id: uuid.UUID, since: str, after: int, through: int
) -> list[tuple[int, str]]:
    rows = Event.objects.of(conversation_id).after(after).filter(sequence__lte=through, timestamp__gte=since)
    return list(rows.values_list("sequence", "payload")[:PAGE])


def _send(conversation_id: uuid.UUID, principal: Any, message: Any) -> None:
    sdk.require()
    from openhands.sdk.conversation.request import SendMessageRequest
    from pydantic import ValidationError

    try:
        request = SendMessageRequest.model_validate(message)
    except (ValidationError, TypeError, AttributeError):
        raise Invalid() from None
    if request.role != "user" or not isinstance(message, dict) or "content" not in message:
        raise Invalid()
    row = services.find(conversation_id=conversation_id, principal=principal, fields=("id", "status"))
    services.send(row=row, message=request.create_message(), run=True)
