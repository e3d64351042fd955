"""Watch an agent live, and stop it at once when it does what you do not want.

    python examples/watch_and_interrupt.py --stop-at "wc -l"

Starts a conversation with the client of openhands-sdk, prints every command as it begins, and interrupts
the run as soon as a command holds the text of `--stop-at`.
"""

import argparse
import os
import threading

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else the import asks the network for prices
os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")

from openhands.sdk import LLM, Agent, Conversation, Tool, Workspace
from openhands.tools import terminal  # noqa: F401  (a client must know a tool to read its events)

URL = os.environ.get("AGENT_SERVER_URL", "http://127.0.0.1:8000")


def main() -> None:
    parser = argparse.ArgumentParser(description="Watch an agent live, and stop it at once.")
    parser.add_argument("--stop-at", default="sleep", metavar="TEXT")
    parser.add_argument("--say", default="Show me what you can do.", metavar="TEXT")
    parser.add_argument("--workspace", default="workspace", metavar="DIR")
    options = parser.parse_args()
    unwanted = threading.Event()

    def watch(event):  # on the client's socket thread: it only looks
        if command := getattr(getattr(event, "action", None), "command", None):
            print(f"$ {command}", flush=True)
            if options.stop_at in command:
                unwanted.set()

    llm = LLM(
        usage_id="agent",
        model=os.environ.get("LLM_MODEL", "openai/demo"),
        base_url=os.environ.get("LLM_BASE_URL", f"{URL}/demo/v1"),
        api_key=os.environ.get("LLM_API_KEY", "none"),
    )
    conversation = Conversation(
        agent=Agent(llm=llm, tools=[Tool(name="terminal")]),
        workspace=Workspace(
            host=URL, working_dir=options.workspace, api_key=os.environ.get("SESSION_API_KEY")
        ),
        callbacks=[watch],
        visualizer=None,
    )
    conversation.send_message(options.say)
    conversation.run(blocking=False)
    if unwanted.wait(timeout=120):
        conversation.interrupt()  # returns when the run is over
    print(f"The conversation is {conversation.state.refresh_from_server()['execution_status']}.")
    conversation.close()


if __name__ == "__main__":
    main()
