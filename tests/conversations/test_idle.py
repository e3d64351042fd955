"""Conversations that nobody uses leave memory, with their shells, and come back by themselves."""

import psutil
import pytest

from tests.contract.dialogue import Dialogue, finish, shell


def shells(server):
    """The processes that agents' terminals of this server live in."""
    here = str(server.process.pid)
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if any("tmux" in word for word in words[:1]):
            try:
                found += [process] if f"/{here}" in process.environ().get("TMUX_TMPDIR", "") else []
            except psutil.Error:
                continue
    return found


@pytest.mark.slow
def test_an_idle_conversation_gives_its_shell_back_and_goes_on_when_asked(
    own_server, llm_url, agent_config, tmp_path, wait_until
):
    server = own_server(OH_CONVERSATION_IDLE_TTL_SECONDS="2", OH_SECRET_KEY="tests-secret-key").wait_ready()
    conversation = Dialogue.open(
        server.http, llm_url, agent_config, tmp_path, shell("echo here"), finish("first")
    )
    conversation.wait_for("ObservationEvent")
    assert shells(server)
    conversation.wait_finished()

    wait_until(lambda: not shells(server), 30, message="the shell to go")

    conversation.tell(shell("echo again"), finish("second"))
    wait_until(lambda: conversation.final_response == "second", 30, message="the answer")
