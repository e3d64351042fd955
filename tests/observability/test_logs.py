"""The server's log: one object a line, ids of request and conversation, no key, nothing of the SDK's own."""

import json
import re

import httpx
import pytest

from tests.contract.dialogue import finish, shell
from tests.observability.conftest import KEY
from tests.support.server import OwnServer
from tests.support.waiting import wait_until


@pytest.fixture
def lines(server):
    """Callable: the objects of the log that have these values."""

    def _lines(**wanted):
        written = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in written if wanted.items() <= line.items()]

    return _lines


def test_every_line_is_an_object_for_machines(server, talk):
    talk(shell("echo hello"), finish()).wait_finished()

    text = server.log.read_text()
    after_greeting = text.partition("Stop it with Ctrl-C.\n")[2].splitlines()
    objects = [json.loads(line) for line in after_greeting]
    assert objects
    assert all({"event", "level", "logger", "timestamp"} <= set(line) for line in objects)


def test_a_request_id_is_taken_over_logged_and_given_back(server, lines):
    answer = server.http.get("/api/conversations/count", headers={"X-Request-Id": "given-17"})

    assert answer.headers["x-request-id"] == "given-17"
    found = wait_until(lambda: lines(request_id="given-17", logger="agentserver.access"))
    assert found[0]["event"] == "GET /api/conversations/count 200"
    assert found[0]["milliseconds"] >= 0


@pytest.mark.parametrize("given", [None, "", "two words", "x" * 200])
def test_other_requests_get_an_id_of_their_own(server, given):
    answer = server.http.get("/health", headers={} if given is None else {"X-Request-Id": given})
    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["x-request-id"])


def test_refusals_have_an_id_too(server):
    assert httpx.get(f"{server.url}/api/conversations/count").headers["x-request-id"]


def test_requests_about_a_conversation_carry_its_id(talk, lines):
    conversation = talk()

    conversation.get()

    assert wait_until(
        lambda: lines(conversation_id=conversation.id, event=f"GET /api/conversations/{conversation.id} 200")
    )


def test_a_run_that_fails_says_which_conversation_and_which_request(server, talk, lines):
    conversation = talk()
    text = conversation.script({"status": 401, "say": "no"})
    body = {"role": "user", "content": [{"type": "text", "text": text}], "run": True}

    server.http.post(f"{conversation.path}/events", json=body, headers={"X-Request-Id": "asked-for-a-run"})

    conversation.wait_status("error")
    found = wait_until(lambda: lines(conversation_id=conversation.id, logger="conversations.loaded"))
    assert found[0]["request_id"] == "asked-for-a-run"


def test_keys_in_queries_are_not_logged(server, lines):
    httpx.get(f"{server.url}/api/conversations/count?session_api_key={KEY}&limit=3&code=canary-code")

    found = wait_until(
        lambda: [one for one in lines(logger="agentserver.access") if "limit=3" in one["event"]]
    )
    assert found[0]["event"] == "GET /api/conversations/count?session_api_key=***&limit=3&code=*** 401"
    assert KEY not in server.log.read_text()


def test_levels_hold_for_single_loggers_and_the_sdk_does_not_take_over(tmp_path, wait_until):
    server = OwnServer(
        tmp_path / "own",
        OH_LOG_LEVELS=json.dumps({"agentserver.sdk": "error", "agentserver.access": "INFO"}),
        OH_ACCESS_LOG="true",
        LOG_AUTO_CONFIG="true",  # what the SDK's logger would listen to
        LOG_JSON="true",
    )
    try:
        server.start().wait_ready()
        server.http.get("/alive")
        wait_until(lambda: "GET /alive 200" in server.log.read_text(), message="the line, after the answer")
        text = server.log.read_text()
    finally:
        server.stop()

    assert "Agent SDK loaded" not in text
    assert "uvicorn.access" not in text
    assert not [line for line in text.splitlines() if line.startswith("{")]
