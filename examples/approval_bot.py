"""Approve what is harmless, refuse what is not: a bot that answers an agent's requests for a yes.

    python examples/approval_bot.py CONVERSATION_ID

For a conversation with `"confirmation_policy": {"kind": "AlwaysConfirm"}`. It reads the actions that
wait, accepts them if each command is one plain, allowed program, and rejects them otherwise, with a
reason that the agent is told. It needs httpx alone.
"""

import os
import shlex
import sys
import time

import httpx

ALLOWED = {"ls", "cat", "echo", "pwd", "wc"}
RESTING = {"idle", "paused", "finished", "error", "stuck"}
POLL_SECONDS = 0.3


def main(conversation: str) -> int:
    key = os.environ.get("SESSION_API_KEY")
    with httpx.Client(
        base_url=os.environ.get("AGENT_SERVER_URL", "http://127.0.0.1:8000"),
        headers={"X-Session-API-Key": key} if key else {},
        timeout=30,
    ) as server:
        while True:
            info = server.get(f"/api/conversations/{conversation}").raise_for_status().json()
            status = info["execution_status"]
            if status in RESTING:
                print(f"The conversation is {status}.")
                return 0 if status == "finished" else 1
            if status == "waiting_for_confirmation":
                answer(server, conversation)
            time.sleep(POLL_SECONDS)


def answer(server: httpx.Client, conversation: str) -> None:
    refused = [action for action in waiting(server, conversation) if not harmless(action)]
    reply = {"accept": not refused, "reason": f"Not allowed here: {refused[0]}" if refused else "Harmless"}
    print("refused" if refused else "accepted", reply["reason"], flush=True)
    path = f"/api/conversations/{conversation}/events/respond_to_confirmation"
    server.post(path, json=reply).raise_for_status()
    if refused:
        # A refusal ends the run; the agent reads the reason in the next one.
        server.post(f"/api/conversations/{conversation}/run").raise_for_status()


def waiting(server: httpx.Client, conversation: str) -> list[str]:
    """What the newest actions want to do: those that no event has answered."""
    query = {"sort_order": "TIMESTAMP_DESC", "limit": 50}
    path = f"/api/conversations/{conversation}/events/search"
    newest = server.get(path, params=query).raise_for_status().json()["items"]
    answered = {event.get("tool_call_id") for event in newest if event["kind"] != "ActionEvent"}
    actions = [e for e in newest if e["kind"] == "ActionEvent" and e["tool_call_id"] not in answered]
    return [action["action"].get("command", action["tool_name"]) for action in actions]


def harmless(command: str) -> bool:
    """One plain program that is allowed: whatever a shell would take for more is not."""
    if any(sign in command for sign in ";&|<>$`\n"):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return bool(words) and (words[0] in ALLOWED or words == ["finish"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
