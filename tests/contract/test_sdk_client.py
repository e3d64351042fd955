"""The real Python client, ``RemoteConversation`` and ``RemoteWorkspace`` of openhands-sdk.

Skipped when openhands-sdk and openhands-tools are not installed next to pytest.  The versions of
client and server must go together: an older client refuses fields that a newer server sends.
"""

import contextlib
import os
import subprocess
import threading
import time
import uuid

import pytest

from tests.contract.conftest import API_KEY, plan, wait_until

os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
sdk = pytest.importorskip("openhands.sdk")
pytest.importorskip("openhands.tools.terminal")
pytest.importorskip("openhands.tools.file_editor")

from openhands.sdk import LLM, Agent, Conversation, Tool, Workspace  # noqa: E402
from openhands.sdk.conversation.exceptions import ConversationRunError  # noqa: E402
from openhands.sdk.conversation.impl.remote_conversation import (  # noqa: E402
    WebSocketCallbackClient,
)
from openhands.sdk.event import (  # noqa: E402
    ActionEvent,
    ConversationStateUpdateEvent,
    ObservationEvent,
)

VERSION = tuple(int(part) for part in sdk.__version__.split(".")[:2])
since_1_24 = pytest.mark.skipif(VERSION < (1, 24), reason="not in this version of the client")


@pytest.fixture
def remote(base_url, workspace):
    """A ``RemoteWorkspace``."""
    return Workspace(host=base_url, working_dir=str(workspace), api_key=API_KEY)


@pytest.fixture
def agent(llm_config):
    return Agent(llm=LLM(**llm_config), tools=[Tool(name="terminal"), Tool(name="file_editor")])


@pytest.fixture
def converse(remote, agent, monkeypatch):
    """Callable that opens a conversation through the SDK; closed and deleted in the end."""
    # By itself the client waits up to 5 seconds for a socket on which nothing happens any more.
    monkeypatch.setattr(WebSocketCallbackClient, "stop", lambda client: client._stop.set())
    with contextlib.ExitStack() as stack:

        def _converse(**options):
            options = {
                "agent": agent,
                "workspace": remote,
                "visualizer": None,
                "delete_on_close": True,
                **options,
            }
            conversation = Conversation(**options)
            stack.callback(conversation.close)
            return conversation

        yield _converse


@contextlib.contextmanager
def later(seconds, call):
    """Do something in ``seconds``, while the block runs; its failure is the block's failure."""
    failures = []

    def run():
        try:
            call()
        except Exception as failure:  # noqa: BLE001
            failures.append(failure)

    timer = threading.Timer(seconds, run)
    timer.start()
    yield
    timer.join()
    assert not failures, failures


def thoughts(count, **step):
    return plan(*[{"tool": "think", "args": {"thought": f"thought {i}"}, **step} for i in range(count)])


def finish(message="done"):
    return plan({"tool": "finish", "args": {"message": message}})


def text(content):
    return "".join(part.text for part in content)


def status(conversation):
    return conversation.state.execution_status.value


def stored(events):
    """Ids of the events that are part of the history, not snapshots of the state."""
    return [
        event.id
        for event in events
        if not (isinstance(event, ConversationStateUpdateEvent) and event.key == "full_state")
    ]


def history(conversation, plain=False):
    """Ids of the events as the server has stored them; ``plain``: without changes of state."""
    items, page_id = [], None
    while True:
        page = conversation.workspace.client.get(
            f"/api/conversations/{conversation.id}/events/search",
            params={"limit": 100, **({"page_id": page_id} if page_id else {})},
        ).json()
        items += [
            item["id"]
            for item in page["items"]
            if not (plain and item["kind"] == "ConversationStateUpdateEvent")
        ]
        if not (page_id := page["next_page_id"]):
            return items


# --- a conversation ----------------------------------------------------------------------------


def test_a_run_goes_to_its_end(converse, workspace):
    conversation = converse()
    assert status(conversation) == "idle"
    conversation.send_message(
        plan(
            {"tool": "terminal", "args": {"command": "echo hello > greeting.txt"}},
            {"tool": "file_editor", "args": {"command": "view", "path": str(workspace / "greeting.txt")}},
            {"tool": "finish", "args": {"message": "all done"}},
        )
    )
    conversation.run(timeout=60)
    assert status(conversation) == "finished"
    assert (workspace / "greeting.txt").read_text() == "hello\n"
    observations = [e for e in conversation.state.events if isinstance(e, ObservationEvent)]
    assert [e.tool_name for e in observations] == ["terminal", "file_editor", "finish"]
    assert "hello" in text(observations[1].observation.to_llm_content)


def test_run_returns_soon_after_the_end(converse):
    """It waits for the final state on the socket and polls only every few seconds."""
    conversation = converse()
    conversation.send_message(finish())
    begin = time.monotonic()
    conversation.run(poll_interval=20, timeout=60)
    assert time.monotonic() - begin < 10
    assert status(conversation) == "finished"


def test_callbacks_get_every_event_in_order(converse):
    seen = []
    conversation = converse(callbacks=[seen.append])
    conversation.send_message(thoughts(6))
    conversation.run(timeout=60)
    wait_until(
        lambda: len(set(stored(seen))) >= len(history(conversation)),
        timeout=5,
        message="every event at the callback",
    )
    assert stored(seen) == list(dict.fromkeys(stored(seen))), "an event came twice"
    assert sorted(stored(seen)) == sorted(history(conversation))
    plain = set(history(conversation, plain=True))
    assert [i for i in stored(seen) if i in plain] == history(conversation, plain=True)


def test_state_events_are_the_history_complete_and_ordered(converse):
    conversation = converse()
    for turn in range(3):
        conversation.send_message(thoughts(3))
        conversation.run(timeout=60)
        assert status(conversation) == "finished"
    events = list(conversation.state.events)
    assert set(history(conversation)) <= set(stored(events))
    plain = set(history(conversation, plain=True))
    assert [i for i in stored(events) if i in plain] == history(conversation, plain=True)
    stamps = [e.timestamp for e in events]
    assert stamps == sorted(stamps)


def test_the_state_can_be_read(converse, agent, workspace):
    conversation = converse(max_iteration_per_run=7)
    conversation.send_message(finish())
    conversation.run(timeout=60)
    state = conversation.state
    assert state.id == conversation.id and isinstance(state.id, uuid.UUID)
    assert state.workspace["working_dir"] == str(workspace)
    assert [tool.name for tool in state.agent.tools] == [tool.name for tool in agent.tools]
    assert state.agent.llm.model == agent.llm.model
    assert state.confirmation_policy.__class__.__name__ == "NeverConfirm"
    assert state.stats.get_combined_metrics().accumulated_token_usage.prompt_tokens > 0


def test_a_failing_model_raises_what_went_wrong(converse):
    conversation = converse()
    conversation.send_message(plan({"status": 400, "say": "the model is out of order"}))
    with pytest.raises(ConversationRunError, match="out of order"):
        conversation.run(timeout=60)
    conversation.send_message(finish())
    conversation.run(timeout=60)
    assert status(conversation) == "finished"


def test_a_second_run_continues_the_conversation(converse, workspace):
    conversation = converse()
    for number in (1, 2):
        conversation.send_message(
            plan({"tool": "terminal", "args": {"command": f"echo {number} >> count.txt"}})
        )
        conversation.run(timeout=60)
    assert (workspace / "count.txt").read_text() == "1\n2\n"


def test_run_without_blocking_returns_at_once(converse):
    conversation = converse()
    conversation.send_message(thoughts(3, delay=0.3))
    begin = time.monotonic()
    conversation.run(blocking=False)
    assert time.monotonic() - begin < 2
    wait_until(lambda: status(conversation) == "running", timeout=5)
    wait_until(lambda: status(conversation) == "finished", timeout=20)


def test_the_end_of_a_conversation_deletes_it_if_wished(converse, remote):
    kept, deleted = converse(delete_on_close=False), converse(delete_on_close=True)
    for conversation in (kept, deleted):
        conversation.close()
    path = "/api/conversations/{}".format
    assert remote.client.get(path(kept.id)).status_code == 200
    assert remote.client.get(path(deleted.id)).status_code == 404
    remote.client.delete(path(kept.id))


# --- while it runs -----------------------------------------------------------------------------


def test_a_message_sent_during_a_run_is_answered(converse, workspace):
    conversation = converse()
    conversation.send_message(thoughts(4, delay=0.4))
    # Twice, as the answer on its way when the message comes counts as the first one to it.
    addition = plan(*[{"tool": "terminal", "args": {"command": "echo added > added.txt"}}] * 2)
    with later(0.8, lambda: conversation.send_message(addition)):
        conversation.run(timeout=60)
    wait_until((workspace / "added.txt").exists, timeout=10, message="the work of the addition")
    wait_until(lambda: status(conversation) == "finished", timeout=10)


def test_pause_stops_a_run_which_can_go_on(converse):
    conversation = converse()
    conversation.send_message(thoughts(8, delay=0.25))
    conversation.run(blocking=False)
    wait_until(lambda: any(isinstance(e, ActionEvent) for e in conversation.state.events))
    conversation.pause()
    wait_until(lambda: status(conversation) == "paused", timeout=10)
    done = len(history(conversation))
    for _ in range(5):  # a late announcement of the pause may end the first of these
        if status(conversation) != "finished":
            conversation.run(timeout=60)
    assert status(conversation) == "finished"
    assert len(history(conversation)) > done


@since_1_24  # earlier clients wait on after a pause
def test_a_run_that_is_paused_returns(converse):
    conversation = converse()
    conversation.send_message(thoughts(30, delay=0.3))
    with later(0.8, conversation.pause):
        conversation.run(timeout=30)
    assert status(conversation) == "paused"


@since_1_24
def test_a_run_that_is_interrupted_returns_at_once(converse, llm_stats):
    conversation = converse()
    conversation.send_message(plan({"say": "never said", "delay": 30}))

    def interrupt():
        wait_until(lambda: llm_stats()["in_flight"] > 0)
        conversation.interrupt()

    begin = time.monotonic()
    with later(0.5, interrupt):
        conversation.run(timeout=25)
    assert time.monotonic() - begin < 20
    assert status(conversation) == "paused"


def test_two_clients_follow_the_same_conversation(converse):
    seen = []
    first = converse()
    second = converse(conversation_id=first.id, callbacks=[seen.append], delete_on_close=False)
    first.send_message(thoughts(3))
    first.run(timeout=60)
    wait_until(lambda: set(history(first)) <= {e.id for e in seen}, timeout=5)
    wait_until(lambda: status(second) == "finished", timeout=5)


def test_attaching_again_finds_everything(converse):
    first = converse(delete_on_close=False)
    first.send_message(thoughts(3))
    first.run(timeout=60)
    expected = history(first)
    first.close()
    again = converse(conversation_id=first.id)
    assert again.id == first.id and status(again) == "finished"
    assert set(expected) <= set(stored(again.state.events))
    again.send_message(finish())
    again.run(timeout=60)
    assert len(history(again)) > len(expected)


def test_an_id_of_ones_own_is_kept(converse):
    wanted = uuid.uuid4()
    assert converse(conversation_id=wanted).id == wanted


# --- more of what a client can do --------------------------------------------------------------


def test_ask_agent_answers_beside_the_conversation(converse):
    conversation = converse()
    conversation.send_message(finish())
    conversation.run(timeout=60)
    before = history(conversation, plain=True)
    assert conversation.ask_agent(plan({"say": "forty-two"})) == "forty-two"
    assert history(conversation, plain=True) == before


@pytest.fixture
def forked(converse):
    """A conversation with a history, and a fork of it."""
    conversation = converse()
    conversation.send_message(thoughts(2))
    conversation.run(timeout=60)
    fork = conversation.fork(title="another way", tags={"kind": "fork"})
    yield conversation, fork
    fork.close()


def test_a_fork_has_the_history_and_a_name_of_its_own(forked):
    conversation, fork = forked
    assert fork.id != conversation.id
    assert set(history(conversation)) <= set(history(fork))
    info = fork.workspace.client.get(f"/api/conversations/{fork.id}").json()
    assert info["tags"]["kind"] == "fork"
    fork.send_message(finish())
    wait_until(lambda: len(history(fork)) > len(history(conversation)))


@pytest.mark.beyond  # without OH_SECRET_KEY the reference forgets the key of the model in a fork
def test_a_fork_can_run(forked):
    conversation, fork = forked
    before = history(conversation)
    fork.send_message(finish("the other end"))
    fork.run(timeout=60)
    assert status(fork) == "finished"
    assert history(conversation) == before


def test_secrets_reach_the_shell_and_stay_hidden(converse):
    conversation = converse(secrets={"FIRST": "first-secret-value"})
    conversation.update_secrets({"SECOND": "second-secret-value"})
    conversation.send_message(
        plan({"tool": "terminal", "args": {"command": "echo ${#FIRST} ${#SECOND}; echo $FIRST $SECOND"}})
    )
    conversation.run(timeout=60)
    [seen] = [
        e for e in conversation.state.events if isinstance(e, ObservationEvent) and e.tool_name == "terminal"
    ]
    output = text(seen.observation.to_llm_content)
    assert "18 19" in output
    assert "first-secret-value" not in output and "second-secret-value" not in output


def test_actions_wait_for_confirmation(converse, workspace):
    from openhands.sdk.security.confirmation_policy import AlwaysConfirm

    conversation = converse()
    conversation.set_confirmation_policy(AlwaysConfirm())
    conversation.send_message(plan({"tool": "terminal", "args": {"command": "touch made"}}))
    conversation.run(blocking=False)
    wait_until(lambda: status(conversation) == "waiting_for_confirmation", timeout=15)
    assert not (workspace / "made").exists()
    conversation.reject_pending_actions("not like this")
    wait_until(
        lambda: any(e.__class__.__name__ == "UserRejectObservation" for e in conversation.state.events),
        timeout=10,
    )
    assert not (workspace / "made").exists()


# --- the workspace -----------------------------------------------------------------------------


def test_the_workspace_is_alive(remote):
    assert remote.alive is True
    assert remote.get_server_info()["title"]


@pytest.mark.parametrize(
    "command, exit_code, stdout, stderr",
    [
        ("echo out; echo err >&2; exit 3", 3, "out\n", "err\n"),
        ("true", 0, "", ""),
        ("printf 'no newline'", 0, "no newline", ""),
        ("no-such-command", 127, "", None),
    ],
)
def test_execute_command(remote, command, exit_code, stdout, stderr):
    result = remote.execute_command(command)
    assert (result.exit_code, result.stdout) == (exit_code, stdout)
    assert stderr is None or result.stderr == stderr
    assert result.command == command and not result.timeout_occurred


def test_execute_command_in_a_folder(remote, workspace):
    (workspace / "sub").mkdir()
    assert remote.execute_command("pwd", cwd=workspace / "sub").stdout == f"{workspace}/sub\n"


def test_execute_command_gives_up_in_time(remote):
    begin = time.monotonic()
    result = remote.execute_command("sleep 20", timeout=1)
    assert time.monotonic() - begin < 10
    assert result.exit_code == -1


def test_execute_command_with_much_output(remote):
    result = remote.execute_command("seq 1 300000")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [str(i) for i in range(1, 300001)]


def test_files_go_up_and_come_back_unchanged(remote, workspace, tmp_path):
    content = bytes(range(256)) * 1000
    source, back = tmp_path / "source.bin", tmp_path / "new" / "back.bin"
    source.write_bytes(content)
    target = workspace / "deep" / "er" / "name with ünïcode.bin"
    up = remote.file_upload(source, target)
    assert up.success, up.error
    assert target.read_bytes() == content
    down = remote.file_download(target, back)
    assert down.success and down.file_size == len(content)
    assert back.read_bytes() == content


def test_a_missing_file_is_reported(remote, workspace, tmp_path):
    result = remote.file_download(workspace / "missing", tmp_path / "back")
    assert not result.success and result.error
    assert not (tmp_path / "back").exists()


@pytest.fixture
def repository(workspace):
    """A repository with a commit and, since then, a changed, a deleted and a new file."""

    def git(*args):
        subprocess.run(
            ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *args],
            cwd=workspace,
            check=True,
            capture_output=True,
        )

    git("init", "-q", "-b", "main")
    for name in ("changed.txt", "deleted.txt"):
        (workspace / name).write_text("old\n")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    (workspace / "changed.txt").write_text("new\n")
    (workspace / "deleted.txt").unlink()
    (workspace / "added.txt").write_text("added\n")
    return workspace


def test_git_changes(remote, repository):
    changes = {str(change.path): change.status.value for change in remote.git_changes(repository)}
    assert set(changes) == {"changed.txt", "deleted.txt", "added.txt"}
    assert changes["added.txt"] == "ADDED"


def test_git_diff(remote, repository):
    diff = remote.git_diff(repository / "added.txt")
    assert (diff.original or "", diff.modified) == ("", "added")
    assert remote.git_diff(repository / "changed.txt").modified == "new"
