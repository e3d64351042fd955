"""The shell of a conversation: in its workspace, apart from the others, gone with it."""

import os

import pytest

from agentserver.errors import Invalid, NotFound
from bashevents import services
from bashevents.models import BashEvent
from bashevents.serializers import ExecuteRequest, new_id
from bashevents.services import Scope
from tests.support.waiting import wait_until

pytestmark = pytest.mark.engines


@pytest.fixture
def scope(here, make_conversation, tmp_path):
    """The shell of a conversation whose workspace has an inner directory and links."""
    workspace = tmp_path / "workspace"
    (workspace / "inner").mkdir(parents=True)
    (tmp_path / "workspace-beside").mkdir()
    (workspace / "out").symlink_to(tmp_path)
    (workspace / "in").symlink_to(workspace / "inner")
    (workspace / "loop").symlink_to(workspace / "loop")
    return Scope(make_conversation(workspace_dir=str(workspace)).id, str(workspace))


def run(scope, command="pwd -P", **options):
    import json

    return json.loads(services.execute_command(scope=scope, body=ExecuteRequest(command=command, **options)))


@pytest.mark.parametrize("cwd", [None, "", ".", "inner", "in", "inner/..", "{w}", "{w}/inner", "{w}/in"])
def test_commands_run_inside_the_workspace(scope, cwd):
    output = run(scope, cwd=cwd and cwd.format(w=scope.workspace))

    assert output["stdout"].startswith(os.path.realpath(scope.workspace))


@pytest.mark.parametrize("cwd", ["..", "out", "/", "{w}-beside", "{w}/out", "{w}/inner/../..", "a\0b"])
def test_no_command_runs_outside_the_workspace(scope, cwd):
    with pytest.raises(Invalid):
        run(scope, cwd=cwd.format(w=scope.workspace))

    assert not BashEvent.objects.exists()


def test_a_command_of_one_shell_is_unknown_to_the_others(scope):
    output = run(scope, "echo mine")

    for other in (services.SERVER, Scope(new_id())):
        with pytest.raises(NotFound):
            services.find_event(scope=other, event_id=_id(output["id"]))
        with pytest.raises(NotFound):
            services.stop_command(scope=other, command_id=_id(output["command_id"]))


def test_a_deleted_conversation_takes_its_commands_along(scope, here):
    from conversations.models import Conversation

    services.start_command(scope=scope, body=ExecuteRequest(command="sleep 60"))
    services.start_command(scope=services.SERVER, body=ExecuteRequest(command="true"))

    Conversation.objects.get(id=scope.conversation_id).delete()

    wait_until(lambda: not here.busy(scope.conversation_id), message="end of the command")
    wait_until(lambda: BashEvent.objects.of(scope.conversation_id).count() == 0, message="end of its events")
    assert BashEvent.objects.of(None).exists()


def _id(text):
    import uuid

    return uuid.UUID(text)
