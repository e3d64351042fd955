"""The store: what the SDK wrote is in the rows when ``write`` returns, once, and only while it is ours."""

import json
import uuid

import pytest
from django.db import IntegrityError

from conversations.models import Command, Conversation, Event

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]


def event(kind="ActionEvent", source="agent", **fields):
    payload = {"id": str(uuid.uuid4()), "timestamp": "2026-01-01T00:00:00.000001", "source": source, **fields}
    return payload["id"], json.dumps({**payload, "kind": kind})


def state(conversation_id, **fields):
    return json.dumps({"id": str(conversation_id), "execution_status": "idle", **fields})


@pytest.fixture
def stored(make_conversation):
    """A stored conversation and a store that has claimed it."""
    from conversations.store import DatabaseFileStore

    row = make_conversation(run_epoch=3)
    row.base_state = state(row.id)
    row.save()
    return row, DatabaseFileStore.load(row)


@pytest.fixture
def append(stored):
    """Callable: write the next event as the SDK does; its id."""
    _, store = stored

    def _append(**fields):
        event_id, payload = event(**fields)
        store.write(f"events/event-{store.next_sequence:05d}-{event_id}.json", payload)
        return event_id

    return _append


def test_an_event_is_a_row_when_write_returns(stored, append):
    row, _ = stored

    event_id = append()

    saved = Event.objects.get(conversation=row)
    assert (saved.event_id, saved.sequence, saved.kind) == (event_id, 0, "ActionEvent")


def test_the_leaf_is_never_behind_the_log(stored, append):
    row, store = stored
    store.write("base_state.json", state(row.id, leaf_event_id="older"))

    last = append()

    row.refresh_from_db()
    assert (row.leaf_event_id, row.next_sequence) == (last, 1)
    assert json.loads(type(store).load(row).read("base_state.json"))["leaf_event_id"] == last


def test_a_state_update_does_not_move_the_leaf(stored, append):
    row, _ = stored
    leaf = append()

    append(kind="ConversationStateUpdateEvent", source="environment")

    row.refresh_from_db()
    assert row.leaf_event_id == leaf


@pytest.mark.parametrize(("run_number", "shown"), [(4, "idle"), (5, "running")])
def test_a_saved_state_does_not_hide_a_run_that_was_claimed_meanwhile(stored, run_number, shown):
    row, store = stored
    store.run_number = 4
    Conversation.objects.filter(id=row.id).update(status="running", run_number=run_number)

    store.write("base_state.json", state(row.id))

    row.refresh_from_db()
    assert row.status == shown


def test_a_store_whose_claim_is_old_is_refused_and_changes_nothing(stored, append):
    from conversations.store import Fenced

    row, store = stored
    Conversation.objects.filter(id=row.id).update(run_epoch=4, title="the new owner's")

    with pytest.raises(Fenced):
        append()
    with pytest.raises(Fenced):
        store.write("base_state.json", state(row.id))

    assert Event.objects.count() == 0


def test_nothing_is_written_to_a_conversation_that_is_being_deleted(stored, append):
    from conversations.store import Fenced

    row, _ = stored
    Conversation.objects.filter(id=row.id).update(status="deleting")

    with pytest.raises(Fenced):
        append()


def test_a_second_writer_of_the_same_place_is_refused(stored, append):
    from conversations.store import Fenced

    row, store = stored
    append()
    store.next_sequence = 0

    with pytest.raises((Fenced, IntegrityError)):
        append()

    assert Event.objects.filter(conversation=row).count() == 1


def test_a_message_takes_its_command_away_in_the_same_transaction(stored, append):
    row, store = stored
    command = Command.objects.create(conversation=row, kind="message", payload="sealed", run=True)

    with store.delivering(command.number):
        append(kind="SystemPromptEvent", source="agent")
        assert Command.objects.filter(number=command.number).exists()
        append(kind="MessageEvent", source="user", llm_message={"content": []})

    assert not Command.objects.filter(number=command.number).exists()


def test_what_cannot_be_stored_is_repaired(stored):
    row, store = stored
    event_id, _ = event()
    head = f'"id": "{event_id}", "kind": "ActionEvent", "source": "agent", "timestamp": "t"'
    payload = f'{{{head}, "x": "a\x00b\ud83d"}}'

    store.write(f"events/event-00000-{event_id}.json", payload)

    saved = Event.objects.get(conversation=row).payload
    assert "\x00" not in saved
    assert saved.encode()


def test_an_event_together_with_something_else_is_all_or_nothing(stored, append):
    row, store = stored

    def refuse():
        Conversation.objects.filter(id=row.id).update(title="half")
        raise LookupError

    with store.together(refuse), pytest.raises(LookupError):
        append()

    row.refresh_from_db()
    assert row.title is None
    assert Event.objects.count() == 0


def test_loading_gives_back_every_event_once(stored, append):
    row, store = stored
    ids = [append() for _ in range(3)]
    row.refresh_from_db()

    loaded = type(store).load(row)

    paths = loaded.list("events")
    assert [path.split("-", 2)[2].removesuffix(".json") for path in paths] == ids
    assert [json.loads(loaded.read(path))["id"] for path in paths] == ids
