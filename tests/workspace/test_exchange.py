"""Moving over from the reference server, and back: what real servers wrote, byte for byte."""

import io
import json
import shutil
import uuid
import zipfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from agentserver import conf, keys, sdk
from conversations.models import Conversation, Status

DATA = Path(__file__).parent / "data"
VERSIONS = ("1.58.2", "1.23.1")
KEY, SECRETS = "reference-data-key", (b"sk-reference-data-secret", b"s3cr3t-reference")
NOT_CONTENT = ("owner_lease.json",)

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def _agent_sdk():
    """Importing it warns about things that are not ours."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sdk.load()


@pytest.fixture(autouse=True)
def _installation(monkeypatch, tmp_path):
    """An installation with the reference's key and a directory of its own for tools' files."""
    monkeypatch.setattr(keys, "installation_key", lambda: KEY)
    monkeypatch.setattr(conf.current(), "conversations_path", tmp_path / "beside")
    sdk.cipher.cache_clear()
    yield
    sdk.cipher.cache_clear()


def content(directory):
    """The bytes of every file by name, but for locks, markers and leases."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not path.name.startswith(".") and path.name not in NOT_CONTENT
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_reference_server_wrote_comes_back_byte_for_byte(version, tmp_path):
    written = DATA / version / "workspace"

    call_command("import_conversations", written, stdout=io.StringIO())
    call_command(
        "export_conversation", "--all", "--bash-events", "--to", tmp_path / "out", stdout=io.StringIO()
    )

    assert content(tmp_path / "out/conversations") == content(written / "conversations")
    # File names of 1.23.1 have whole seconds; the events in them do not.
    events, exported = content(written / "bash_events"), content(tmp_path / "out/bash_events")
    assert sorted(events.values()) == sorted(exported.values())
    assert version == "1.23.1" or events.keys() == exported.keys()


def test_imported_conversations_are_listed_with_what_they_were():
    call_command("import_conversations", DATA / "1.58.2/workspace", stdout=io.StringIO())

    finished, killed = Conversation.objects.order_by("created_at")
    assert (finished.status, killed.status) == (Status.FINISHED, Status.RUNNING)
    assert [event.sequence for event in finished.events.order_by("sequence")] == list(range(12))
    assert finished.created_at.isoformat() == "2026-11-30T11:57:39.885526+00:00"
    info = json.loads(finished.info)
    assert info["agent"]["llm"]["model"] == "openai/fake-model"
    assert info["agent"]["llm"]["api_key"] == "**********"


def test_a_changed_conversation_says_so_in_its_meta(tmp_path):
    call_command("import_conversations", DATA / "1.58.2/workspace", stdout=io.StringIO())
    row = Conversation.objects.get(status=Status.FINISHED)
    before = json.loads(row.request)
    Conversation.objects.filter(pk=row.pk).update(title="renamed", tags='{"a":"b"}')

    call_command("export_conversation", str(row.pk), "--to", tmp_path / "out", stdout=io.StringIO())

    after = json.loads((tmp_path / "out/conversations" / row.pk.hex / "meta.json").read_text())
    assert after == {**before, "title": "renamed", "tags": {"a": "b"}}


def test_importing_again_leaves_what_is_here(capsys):
    for _ in range(2):
        call_command("import_conversations", DATA / "1.58.2/workspace", stdout=io.StringIO())

    assert Conversation.objects.count() == 2
    assert "is here already" in capsys.readouterr().err


def copied(tmp_path):
    [first, _] = sorted((DATA / "1.58.2/workspace/conversations").iterdir())
    return Path(shutil.copytree(first, tmp_path / "source" / first.name))


def remove_an_event(directory):
    next(directory.glob("events/event-00003-*")).unlink()


def cut_an_event(directory):
    next(directory.glob("events/event-00003-*")).write_text('{"id": ')


def remove_the_meta(directory):
    (directory / "meta.json").unlink()


def spoil_the_state(directory):
    (directory / "base_state.json").write_text('{"id": "x"}')


def not_text(directory):
    (directory / "meta.json").write_bytes(b"\xff\xfe")


@pytest.mark.parametrize(
    "damage", [remove_an_event, cut_an_event, remove_the_meta, spoil_the_state, not_text]
)
def test_a_damaged_conversation_is_named_and_nothing_of_it_stored(damage, tmp_path):
    directory = copied(tmp_path)
    damage(directory)
    errors = io.StringIO()

    with pytest.raises(CommandError):
        call_command("import_conversations", directory, stderr=errors)

    assert directory.name in errors.getvalue()
    assert Conversation.objects.count() == 0


def test_files_of_tools_move_along(tmp_path):
    directory = copied(tmp_path)
    (directory / "observations").mkdir()
    (directory / "observations/long.txt").write_text("output")
    (directory / "link").symlink_to("/etc/hostname")

    call_command("import_conversations", directory, stdout=io.StringIO())
    call_command("export_conversation", "--all", "--to", tmp_path / "out", stdout=io.StringIO())

    exported = tmp_path / "out/conversations" / directory.name
    assert (exported / "observations/long.txt").read_text() == "output"
    assert not (exported / "link").exists()


def test_another_key_imports_all_but_says_that_secrets_stay_shut(monkeypatch, tmp_path):
    monkeypatch.setattr(keys, "installation_key", lambda: "another-key")
    sdk.cipher.cache_clear()
    errors = io.StringIO()

    call_command("import_conversations", copied(tmp_path), stdout=io.StringIO(), stderr=errors)

    assert "OH_SECRET_KEY" in errors.getvalue()
    assert Conversation.objects.count() == 1


def zip_of(row):
    from agentserver.workspace import trajectories

    archive = zipfile.ZipFile(io.BytesIO(b"".join(trajectories.zipped(row))))
    assert archive.testzip() is None
    return {name: archive.read(name) for name in archive.namelist()}


def test_a_trajectory_has_everything_but_the_secrets():
    call_command("import_conversations", DATA / "1.58.2/workspace", stdout=io.StringIO())
    row = Conversation.objects.get(status=Status.FINISHED)
    first = row.events.order_by("sequence").first()
    # A tool printed them, in plain text and as JSON in JSON; one is still a token.
    payload = json.loads(first.payload)
    payload["note"] = (
        "s3cr3t-reference "
        + json.dumps({"k": "s3cr3t-reference"})
        + json.loads(row.base_state)["agent"]["llm"]["api_key"]
    )
    type(first).objects.filter(pk=first.pk).update(payload=json.dumps(payload))

    files = zip_of(row)

    assert len(files) == 2 + row.next_sequence
    assert f"{row.pk.hex}/events/event-00000-{first.event_id}.json" in files
    everything = b"".join(files.values())
    assert not [secret for secret in (*SECRETS, b"gAAAAA") if secret in everything]
    assert all(json.loads(text) for text in files.values())


def test_a_trajectory_hides_secrets_that_were_stored_in_plain_text(make_conversation, make_event):
    secret = 'plain "quoted" ü'
    server = {"env": {"A": "plain-env", "DEBUG": "true"}, "headers": {"Authorization": "Bearer plain-header"}}
    state = {
        "agent": {"llm": {"model": "m", "api_key": "plain-llm-key"}, "mcp_config": {"s": server}},
        "secret_registry": {
            "secret_sources": {
                "T": {"kind": "StaticSecret", "value": secret},
                "N": {"kind": "StaticSecret", "value": "1234"},
            }
        },
    }
    row = make_conversation(base_state=json.dumps(state), id=uuid.uuid4())
    said = {
        "text": f"it is {secret}, plain-env, plain-header and 1234",
        "arguments": json.dumps({"k": secret}),
        "ok": True,
        "size": 1234,
    }
    make_event(row, payload=json.dumps(said, ensure_ascii=False))

    files = zip_of(row)

    everything = b"".join(files.values()).decode()
    assert not [s for s in ("plain-llm-key", "plain-env", "plain-header", "quoted") if s in everything]
    event = json.loads(files[f"{row.pk.hex}/events/event-00000-event-0.json"])
    assert event == {
        "text": "it is **********, **********, ********** and **********",
        "arguments": '{"k": "**********"}',
        "ok": True,
        "size": 1234,
    }


def test_an_export_for_others_is_masked(tmp_path):
    call_command("import_conversations", DATA / "1.23.1/workspace", stdout=io.StringIO())

    call_command("export_conversation", "--all", "--masked", "--to", tmp_path / "out", stdout=io.StringIO())

    everything = b"".join(content(tmp_path / "out").values())
    assert b"fake-model" in everything
    assert not [secret for secret in (*SECRETS, b"gAAAAA") if secret in everything]


def test_an_export_never_overwrites(tmp_path):
    call_command("import_conversations", copied(tmp_path), stdout=io.StringIO())
    for attempt in range(2):
        if attempt:
            with pytest.raises(CommandError):
                call_command("export_conversation", "--all", "--to", tmp_path / "out", stdout=io.StringIO())
        else:
            call_command("export_conversation", "--all", "--to", tmp_path / "out", stdout=io.StringIO())
