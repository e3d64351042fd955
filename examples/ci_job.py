"""Run an agent as a step of a CI job: its failure fails the job, and it does not outlive the job.

    python examples/ci_job.py --workspace "$PWD" "Make the tests in tests/ pass."

Prints what the agent runs. The exit code is 0 if the agent finished, 1 if it ended otherwise or took too
long; it is interrupted then. The model is that of the server's settings, or `LLM_MODEL` and so on.
"""

import argparse
import os
import sys
import time
import uuid
from pathlib import Path

import httpx

ENDS = {"finished", "error", "stuck", "paused", "waiting_for_confirmation"}
POLL_SECONDS = 0.5


def main() -> int:
    parser = argparse.ArgumentParser(description="Run an agent; the exit code is 0 if it finished.")
    parser.add_argument("task")
    parser.add_argument("--workspace", default=".", metavar="DIR")
    parser.add_argument("--timeout", type=float, default=1800, metavar="SECONDS")
    options = parser.parse_args()
    url = os.environ.get("AGENT_SERVER_URL", "http://127.0.0.1:8000")
    key = os.environ.get("SESSION_API_KEY")
    headers = {"X-Session-API-Key": key} if key else {}
    with httpx.Client(base_url=f"{url}/api/conversations/", headers=headers, timeout=60) as server:
        conversation = start(server, options.task, str(Path(options.workspace).absolute()))
        try:
            status = follow(server, conversation, time.monotonic() + options.timeout)
        finally:
            server.post(f"{conversation}/interrupt")  # changes nothing where the run has ended
    print(f"The agent ended with: {status}")
    return 0 if status == "finished" else 1


def start(server: httpx.Client, task: str, workspace: str) -> str:
    conversation = str(uuid.uuid4())
    names = ("model", "base_url", "api_key")
    llm = {name: value for name in names if (value := os.environ.get(f"LLM_{name.upper()}"))}
    body = {
        "conversation_id": conversation,
        "agent_settings": {"llm": llm} if llm else {},
        "workspace": {"kind": "LocalWorkspace", "working_dir": workspace},
        "initial_message": {"content": [{"type": "text", "text": task}]},
    }
    server.post("", json=body).raise_for_status()
    return conversation


def follow(server: httpx.Client, conversation: str, deadline: float) -> str:
    """Print events as they come until the run ends; its status, or `timeout`."""
    query, seen = {"limit": 100}, set()
    while time.monotonic() < deadline:
        # Asked for first: what is read below is complete if the run has ended by now.
        status = server.get(conversation).raise_for_status().json()["execution_status"]
        page = server.get(f"{conversation}/events/search", params=query).raise_for_status().json()
        for event in page["items"]:
            if event["id"] not in seen:
                seen.add(event["id"])
                show(event)
        if page["next_page_id"]:
            query["page_id"] = page["next_page_id"]
        elif status in ENDS:
            return status
        else:
            time.sleep(POLL_SECONDS)
    return "timeout"


def show(event: dict) -> None:
    if event["kind"] == "ActionEvent":
        action = event["action"]
        print(f"> {action.get('command') or action.get('message') or event['tool_name']}", flush=True)
    elif event["kind"] in ("AgentErrorEvent", "ConversationErrorEvent"):
        print(f"! {event.get('error') or event.get('detail')}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
