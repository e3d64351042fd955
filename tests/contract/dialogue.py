"""Conversations as the tests of conversations, events and run control see them.

A ``Dialogue`` scripts the fake LLM with strict plans (the LLM refuses, as real providers do, a
history with a tool call that has no result) and marks them, so that a test can ask what the LLM
was asked on behalf of just this conversation.  It makes no LLM call of its own accord: the
automatic title is off.

Environment
    AGENT_SERVER_RESTART_CMD  for a server of AGENT_SERVER_URL: a shell command that stops it with the signal
        named in ``$SIGNAL`` (TERM or KILL), waits for its end and starts it again on the same
        data and address.  The tests of persistence are skipped when it is unset.  Give the
        server a fixed ``OH_SECRET_KEY``: without one it cannot keep API keys on disk.

``talk`` and ``restart_server`` are fixtures: import them by name into a test module.
"""

import contextlib
import os

import httpx
import pytest

from tests.contract.conftest import ConversationDriver, new_id, plan, user_message, wait_until
from tests.support.server import GivenServer

UNKNOWN = "00000000-0000-4000-8000-000000000000"


# Steps of a plan


def shell(command, **more):
    return {"tool": "terminal", "args": {"command": command}, **more}


def write(path, text="written", **more):
    """Create a file: an action with a visible effect that needs no terminal."""
    args = {"command": "create", "path": str(path), "file_text": text}
    return {"tool": "file_editor", "args": args, **more}


def finish(message="done", **more):
    return {"tool": "finish", "args": {"message": message}, **more}


def say(text, **more):
    return {"say": text, **more}


def think(thought, **more):
    return {"tool": "think", "args": {"thought": thought}, **more}


def thinking(count, **more):
    """``count`` harmless tool calls, each different from the others."""
    return [think(f"thought {n}", **more) for n in range(count)]


# Looking at events


def text_of(content):
    return "".join(part.get("text", "") for part in content)


def message_texts(events, source=None):
    return [
        text_of(event["llm_message"]["content"])
        for event in events
        if event["kind"] == "MessageEvent" and source in (None, event["source"])
    ]


def observation_text(event):
    return text_of(event["observation"]["content"])


def observations(events):
    return [event for event in events if event["kind"] == "ObservationEvent"]


def unanswered(events):
    """Tool calls that no later event answers: there must be none once a run has ended."""
    answers = {"ObservationEvent", "UserRejectObservation", "AgentErrorEvent"}
    answered = [event["tool_call_id"] for event in events if event["kind"] in answers]
    asked = [event["tool_call_id"] for event in events if event["kind"] == "ActionEvent"]
    assert len(answered) == len(set(answered)), "a tool call was answered twice"
    return [call for call in asked if call not in answered]


class Dialogue(ConversationDriver):
    def __init__(self, http, info, llm_url, marker=None):
        super().__init__(http, info)
        self.llm_url, self.marker = llm_url, marker or f"marker-{new_id()}"

    @classmethod
    def open(cls, http, llm_url, agent, working_dir, *steps, run=True, options=None, **overrides):
        marker = f"marker-{new_id()}"
        body = {
            "agent": agent,
            "workspace": {"working_dir": str(working_dir)},
            "autotitle": False,
            **overrides,
        }
        if steps and run:
            text = plan(*steps, strict=True, marker=marker, **(options or {}))
            body["initial_message"] = user_message(text, True)
        response = http.post("/api/conversations", json=body)
        assert response.status_code in (200, 201), response.text
        dialogue = cls(http, response.json(), llm_url, marker)
        if steps and not run:
            dialogue.tell(*steps, run=False, **(options or {}))
        return dialogue

    def script(self, *steps, **options):
        return plan(*steps, strict=True, marker=self.marker, **options)

    def tell(self, *steps, run=True, **options):
        """Send a message that scripts the LLM's next answers."""
        return self.send(self.script(*steps, **options), run)

    def post(self, name, body=None):
        return self.http.post(f"{self.path}/{name}", json=body)

    def ok(self, name, body=None):
        response = self.post(name, body)
        assert response.status_code == 200, response.text
        assert response.json() == {"success": True}

    def fork(self, **body):
        response = self.post("fork", body)
        assert response.status_code == 201, response.text
        return Dialogue(self.http, response.json(), self.llm_url, self.marker)

    def delete(self):
        return self.http.delete(self.path)

    # What the LLM saw

    def llm_calls(self, outcome=None):
        calls = httpx.get(f"{self.llm_url}/requests", params={"contains": self.marker}).json()
        return [call for call in calls if outcome in (None, call["outcome"])]

    def wait_llm_call(self):
        """Wait for an LLM call in flight; return it."""
        return wait_until(lambda: self.llm_calls("pending"), message="an LLM call in flight")[-1]

    # What the server recorded

    def of_kind(self, kind):
        return [event for event in self.events() if event["kind"] == kind]

    def wait_for(self, kind, count=1, timeout=20.0):
        """Wait until ``count`` events of this kind are recorded; return them all."""

        def enough():
            events = self.of_kind(kind)
            return events if len(events) >= count else None

        return wait_until(enough, timeout, message=f"{count} events of kind {kind}")

    def wait_finished(self, timeout=30.0):
        """Wait for the end of the run, which must be a good one; return the events."""
        status = self.wait_status("finished", "error", "stuck", timeout=timeout)
        events = self.events()
        failures = [event for event in events if event["kind"] == "ConversationErrorEvent"]
        assert status == "finished", failures
        return events

    @property
    def final_response(self):
        response = self.http.get(f"{self.path}/agent_final_response")
        assert response.status_code == 200, response.text
        return response.json()["response"]

    @property
    def working_dir(self):
        return self.info["workspace"]["working_dir"]


@pytest.fixture
def talk(http, llm_url, agent_config, workspace):
    """Callable: open a Dialogue with these steps; it is deleted when the test ends."""
    opened = []

    def _talk(*steps, working_dir=workspace, agent=agent_config, **overrides):
        opened.append(Dialogue.open(http, llm_url, agent, working_dir, *steps, **overrides))
        return opened[-1]

    yield _talk
    for dialogue in opened:
        with contextlib.suppress(httpx.HTTPError):
            dialogue.delete()


@pytest.fixture(scope="session")
def restart_server(agent_server):
    """Callable that restarts the server under test: ``restart_server("KILL")`` or ``("TERM")``."""
    if isinstance(agent_server, GivenServer) and "AGENT_SERVER_RESTART_CMD" not in os.environ:
        pytest.skip("AGENT_SERVER_RESTART_CMD is not set")
    return agent_server.restart
