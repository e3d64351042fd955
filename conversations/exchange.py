"""The reference's directory of a conversation and our rows: reading one into the other, and back.

<hex id>/base_state.json  meta.json  events/event-NNNNN-ID.json
"""

import datetime
import re
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from django.db import transaction

from agentserver import sdk
from conversations import texts
from conversations.infos import wire_time
from conversations.models import Conversation, Event

BASE_STATE, META, EVENTS = "base_state.json", "meta.json", "events"
_EVENT = re.compile(r"event-(\d+)-(.+)\.json")
_NOT_CONTENT = re.compile(r"\..*|owner_lease\.json|base_state\.json|meta\.json|events")
BATCH = 50
"""Events in memory at once."""


class Unusable(Exception):
    """A directory that cannot be imported; its text says what is wrong with it."""


class AlreadyHere(Unusable):
    """A conversation with this id is stored already; it is left as it is."""


@dataclass(frozen=True)
class File:
    """A file's name within the conversation's directory, and its JSON."""

    name: str
    text: str


# Out of rows


def files(row: Conversation) -> Iterator[File]:
    """The content of the conversation's directory, in order. Each step is one query at most."""
    yield File(BASE_STATE, row.base_state)
    yield File(META, meta(row))
    after = -1
    while batch := list(_events(row, after)):
        for sequence, event_id, payload in batch:
            yield File(f"{EVENTS}/event-{sequence:05d}-{event_id}.json", payload)
            after = sequence


def _events(row: Conversation, after: int) -> Any:
    return Event.objects.of(row.id).after(after).values_list("sequence", "event_id", "payload")[:BATCH]


def meta(row: Conversation) -> str:
    """``meta.json``: as it was imported, if nothing in it has changed since."""
    kept = orjson.loads(row.request)
    current = _columns(row)
    changed = {key: value for key, value in current.items() if not _same(kept.get(key), value)}
    if "created_at" in kept and not changed:
        return row.request
    state = orjson.loads(row.base_state or "{}")
    inherited = {key: state[key] for key in ("workspace", "confirmation_policy") if key in state}
    return orjson.dumps({**inherited, **kept, **current}).decode()


def _columns(row: Conversation) -> dict[str, Any]:
    return {
        "parent_conversation_id": _text(row.parent_id),
        "tags": orjson.loads(row.tags),
        "id": row.id.hex,
        "title": row.title,
        "created_at": wire_time(row.created_at),
        "updated_at": wire_time(row.updated_at),
        "forked_from_conversation_id": _text(row.forked_from_id),
        "forked_from_event_id": row.forked_from_event_id,
    }


def _same(kept: Any, value: Any) -> bool:
    """Equal, or two spellings of one id or moment. What is absent is None."""
    if kept == value or not (isinstance(kept, str) and isinstance(value, str)):
        return kept == value
    for read in (uuid.UUID, _moment):
        try:
            return read(kept) == read(value)
        except ValueError:
            continue
    return False


def write(row: Conversation, directory: Path, beside: Path, change: Any = None) -> Path:
    """Write the conversation's directory into ``directory``, with the files that tools keep ``beside``.

    ``change``: a function on each text, such as a Masker's. Raises FileExistsError.
    """
    target = directory / row.id.hex
    (target / EVENTS).mkdir(parents=True)
    for file in files(row):
        (target / file.name).write_text(change(file.text) if change else file.text, "utf-8", newline="")
    if (beside / row.id.hex).is_dir() and change is None:
        _copy_rest(beside / row.id.hex, target)
    return target


# Into rows


def read(directory: Path, beside: Path) -> Conversation:
    """Store the conversation of a directory; its other files go to ``beside``. Needs the SDK.

    Raises Unusable, AlreadyHere; then nothing is stored. A conversation that was running says so
    until recovery.
    """
    row = _row(directory)
    if Conversation.objects.filter(pk=row.pk).exists():
        raise AlreadyHere("a conversation with this id is here already")
    paths = _event_paths(directory / EVENTS)
    row.next_sequence = len(paths)
    with transaction.atomic():
        row.save(force_insert=True)
        for start in range(0, len(paths), BATCH):
            Event.objects.bulk_create(_event(row, n, paths[n]) for n in range(start, len(paths))[:BATCH])
    _copy_rest(directory, beside / row.id.hex)
    return row


def _row(directory: Path) -> Conversation:
    state_text, meta_text = _text_of(directory / BASE_STATE), _text_of(directory / META)
    state, kept = _object(state_text, BASE_STATE), _object(meta_text, META)
    try:
        return Conversation(
            id=uuid.UUID(str(state["id"])),
            parent_id=_id(kept.get("parent_conversation_id")),
            forked_from_id=_id(kept.get("forked_from_conversation_id")),
            forked_from_event_id=kept.get("forked_from_event_id"),
            status=state.get("execution_status", "idle"),
            title=kept.get("title"),
            tags=orjson.dumps(kept.get("tags") or {}).decode(),
            workspace_dir=state["workspace"]["working_dir"],
            created_at=_moment(kept["created_at"]),
            updated_at=_moment(kept["updated_at"]),
            request=meta_text,
            base_state=state_text,
            info=_info(state, kept),
            leaf_event_id=state.get("leaf_event_id"),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Unusable(f"it lacks or misstates {error}") from error


def _info(state: dict[str, Any], kept: dict[str, Any]) -> str:
    from openhands.sdk.conversation.state import ConversationState

    from conversations import infos

    return infos.describe(ConversationState.model_validate(state, context={"cipher": sdk.cipher()}), kept)


def _event_paths(directory: Path) -> list[Path]:
    """The event files in order. Raises Unusable if one is missing or there twice."""
    found = {}
    for path in directory.iterdir() if directory.is_dir() else ():
        if match := _EVENT.fullmatch(path.name):
            if int(match[1]) in found:
                raise Unusable(f"event {int(match[1])} is there twice")
            found[int(match[1])] = path
    if set(found) != set(range(len(found))):
        raise Unusable("an event is missing: the numbers of the event files have a gap")
    return [found[number] for number in sorted(found)]


def _event(row: Conversation, sequence: int, path: Path) -> Event:
    payload = _text_of(path)
    _object(payload, path.name)
    match = _EVENT.fullmatch(path.name)
    event_id = match[2] if match else ""
    return Event(
        conversation=row, sequence=sequence, event_id=event_id, payload=payload, **texts.columns(payload)
    )


def _text_of(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        raise Unusable(f"{path.name} cannot be read as UTF-8 text") from None


def _object(text: str, name: str) -> dict[str, Any]:
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError:
        parsed = None
    if not isinstance(parsed, dict):
        raise Unusable(f"{name} is not a JSON object")
    return parsed


def _copy_rest(source: Path, target: Path) -> None:
    """Copy what tools keep beside a conversation: no links, locks, markers and leases."""
    for path in source.iterdir():
        if _NOT_CONTENT.fullmatch(path.name) or path.is_symlink():
            continue
        target.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, target / path.name, symlinks=True, dirs_exist_ok=True)
        elif path.is_file():
            shutil.copy2(path, target / path.name)


def _moment(text: str) -> datetime.datetime:
    """Aware; a time without zone is UTC, as the reference means it."""
    moment = datetime.datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def _id(text: str | None) -> uuid.UUID | None:
    return None if text is None else uuid.UUID(text)


def _text(value: uuid.UUID | None) -> str | None:
    return None if value is None else str(value)
