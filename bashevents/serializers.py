"""The wire forms of bash: the request, the events as ready JSON, times, ids."""

import datetime
import secrets
import time
import uuid

import orjson
from pydantic import BaseModel, Field, field_validator

INT32 = 2**31


class ExecuteRequest(BaseModel):
    """The body of start and execute. ``timeout`` in seconds; 0 or less ends it at once."""

    command: str
    cwd: str | None = None
    timeout: int = Field(300, ge=-(10**15), le=10**15)

    @field_validator("command", "cwd")
    @classmethod
    def _is_text(cls, value: str | None) -> str | None:
        """Half of a surrogate pair is no text: it could neither be run nor stored nor sent."""
        if value is not None and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueError("Input should be text that UTF-8 can hold") from None
        return value


def new_id() -> uuid.UUID:
    """A random id that begins with the time (version 7).

    Ids of one time lie together in an index: an insert and a pruned batch touch few pages of it.
    """
    milliseconds = time.time_ns() // 1_000_000
    number = milliseconds << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return uuid.UUID(int=number)


def timestamp_text(moment: datetime.datetime) -> str:
    """UTC with microseconds and ``Z``, always of the same length."""
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def command_payload(event_id: uuid.UUID, moment: datetime.datetime, body: ExecuteRequest) -> str:
    fields = {
        "command": body.command,
        "cwd": body.cwd,
        "timeout": body.timeout,
        "id": event_id.hex,
        "timestamp": timestamp_text(moment),
        "kind": "BashCommand",
    }
    return orjson.dumps(fields).decode()


def output_content(
    *, command_id: uuid.UUID, order: int, exit_code: int | None, stdout: str | None, stderr: str | None
) -> str:
    """All of an output but its id and time, as the tail of a JSON object; see ``output_payload``."""
    fields = {
        "command_id": command_id.hex,
        "order": order,
        "exit_code": exit_code,
        "stdout": stdout or None,
        "stderr": stderr or None,
        "kind": "BashOutput",
    }
    return orjson.dumps(fields).decode()[1:]


def output_payload(event_id: uuid.UUID, moment: datetime.datetime, content: str) -> str:
    """``content`` completed with what is known when the row is written, without coding it again."""
    return f'{{"id":"{event_id.hex}","timestamp":"{timestamp_text(moment)}",{content}'


def error_frame(code: str, detail: str) -> str:
    """What a socket answers to a message it cannot use; shown, never stored."""
    fields = {
        "id": new_id().hex,
        "timestamp": timestamp_text(datetime.datetime.now(datetime.UTC)),
        "code": code,
        "detail": detail,
        "kind": "BashError",
    }
    return orjson.dumps(fields).decode()
