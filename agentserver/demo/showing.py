"""`agentserver demo`: a conversation that runs commands, is paused, interrupted in flight and resumed.

Starts a server on a free port with a data directory of its own, talks to it with the real client of
openhands-sdk, and prints what happens. The model is the server's own scripted `demo`, so no key is
needed. Exits with 0 only if each of these things really happened.

    agentserver demo
    agentserver demo --server http://127.0.0.1:8000   # a server that runs already
"""

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LOG_LEVEL", "ERROR")  # the client's; what matters is printed here

SLOW = "wc -l < demo_lines.txt"
"""The command that the slow answer brings."""
STARTED = time.monotonic()
SUMMARY = "Show a conversation that runs commands, is paused, interrupted in flight, and resumed."


def main(arguments: Sequence[str]) -> int:
    """Show it; the exit code: 0 if all of it happened."""
    parser = argparse.ArgumentParser(prog="agentserver demo", description=SUMMARY)
    parser.add_argument("--server", metavar="URL", help="use this server instead of starting one")
    parser.add_argument("--model", metavar="URL", help="OpenAI-compatible address of a demo model")
    options = parser.parse_args(arguments)
    directory = Path(tempfile.mkdtemp(prefix="agentserver-demo-"))
    try:
        with given(options.server) if options.server else started(directory) as url:
            show(url, options.model or f"{url}/demo/v1", directory)
    except Unproven as failure:
        tell(f"FAILED: {failure}")
        return 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    tell("All of it happened.")
    return 0


def show(url: str, model_url: str, directory: Path) -> None:
    """The conversation itself. Raises Unproven."""
    # Imported late: it takes some seconds, in which the server can start.
    from openhands.sdk import LLM, Agent, Conversation, Tool, Workspace
    from openhands.tools import terminal  # noqa: F401  (a client must know a tool to read its events)

    workspace = directory / "workspace"
    workspace.mkdir()
    tell(f"A conversation on {url}")
    witness = Witness()
    llm = LLM(usage_id="demo", model="openai/demo", base_url=model_url, api_key="none")
    conversation = Conversation(
        agent=Agent(llm=llm, tools=[Tool(name="terminal")]),
        workspace=Workspace(host=url, working_dir=str(workspace)),
        callbacks=[witness],
        visualizer=None,
    )
    with contextlib.closing(conversation):
        begin(conversation, witness, workspace)
        pause(conversation, witness)
        resume(conversation, witness)
        interrupt(conversation, witness)
        finish(conversation, witness, workspace)


def begin(conversation: Any, witness: "Witness", workspace: Path) -> None:
    conversation.send_message("Show me what you can do.")
    conversation.run(blocking=False)
    wait(lambda: "demo_count.sh" in witness.results(), "the first command's result")
    prove((workspace / "demo_count.sh").is_file(), "the command wrote a real file")


def pause(conversation: Any, witness: "Witness") -> None:
    tell("--- pause: the step that has begun is finished, then it stands still")
    conversation.pause()
    wait(lambda: status(conversation) == "paused", "the status paused")
    wait(lambda: witness.saw("PauseEvent"), "the event of the pause")
    prove(SLOW not in witness.commands(), "the story has not gone on to its slow part")


def resume(conversation: Any, witness: "Witness") -> None:
    tell("--- resume")
    conversation.run(blocking=False)
    wait(lambda: "line 5 of 5" in witness.results(), "the script's output")
    wait(lambda: status(conversation) == "running", "the status running")


def interrupt(conversation: Any, witness: "Witness") -> None:
    tell("--- interrupt: the model is in the middle of its slow answer; it is cut off at once")
    time.sleep(1)  # into the answer, of which nothing is to be seen from outside
    prove(SLOW not in witness.commands(), "the model has not answered yet")
    asked = time.monotonic()
    conversation.interrupt()
    wait(lambda: status(conversation) == "paused", "the status paused", seconds=3)
    tell(f"paused {1000 * (time.monotonic() - asked):.0f} ms after the request")
    wait(lambda: witness.saw("InterruptEvent"), "the event of the interrupt")
    prove(SLOW not in witness.commands(), "the answer that was cut off left nothing behind")


def finish(conversation: Any, witness: "Witness", workspace: Path) -> None:
    tell("--- resume, to the end")
    conversation.run(timeout=120)
    prove(status(conversation) == "finished", "the conversation finished")
    wait(lambda: SLOW in witness.commands(), "the command of the slow answer")
    prove(not (workspace / "demo_count.sh").exists(), "the agent tidied up")


def status(conversation: Any) -> str:
    return str(conversation.state.refresh_from_server()["execution_status"])


class Witness:
    """Prints every event as it arrives, and remembers it. Called on the client's socket thread."""

    def __init__(self) -> None:
        self._events: list[Any] = []

    def __call__(self, event: Any) -> None:
        self._events.append(event)
        match event.__class__.__name__:
            case "MessageEvent":
                tell(f"{event.source}: {_text(event.llm_message.content)}")
            case "ActionEvent":
                tell(f"agent: {_text(event.thought) or event.action.message}")
                if command := getattr(event.action, "command", None):
                    show_block(f"$ {command}")
            case "ObservationEvent" if event.tool_name == "terminal":
                show_block(_output(event))
            case "PauseEvent" | "InterruptEvent" as name:
                tell(f"server: {name}")

    def commands(self) -> list[str]:
        """The terminal commands of the agent so far."""
        actions = [event.action for event in self._events if event.__class__.__name__ == "ActionEvent"]
        return [action.command for action in actions if hasattr(action, "command")]

    def results(self) -> str:
        """What they have put out so far."""
        return "\n".join(_output(e) for e in self._events if e.__class__.__name__ == "ObservationEvent")

    def saw(self, name: str) -> bool:
        return any(event.__class__.__name__ == name for event in self._events)


def _text(parts: Any) -> str:
    return "".join(getattr(part, "text", "") for part in parts)


def _output(event: Any) -> str:
    """A command's output without the notes for the model that follow it."""
    return _text(event.observation.to_llm_content).partition("\n[The command completed")[0].strip()


class Unproven(Exception):
    """Something that the demo promises did not happen."""


def prove(happened: bool, what: str) -> None:
    if not happened:
        raise Unproven(f"expected that {what}")
    tell(f"(seen: {what})")


def wait(check: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Until ``check()``. Raises Unproven after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            raise Unproven(f"waited {seconds} s in vain for {what}")
        time.sleep(0.05)


def tell(text: str) -> None:
    print(f"{time.monotonic() - STARTED:6.1f}  {text}", flush=True)


def show_block(text: str) -> None:
    print("\n".join(f"          {line}" for line in text.splitlines()), flush=True)


@contextlib.contextmanager
def given(url: str) -> Generator[str]:
    yield url.rstrip("/")


@contextlib.contextmanager
def started(directory: Path) -> Generator[str]:
    """A server of its own, ended in the end; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = directory / "server.log"
    command = [sys.executable, "-m", "agentserver", "serve", "--port", str(port)]
    command += ["--data", str(directory / "data")]
    # The demo is one of a server without a key, whatever this shell is set to.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OH_") and k != "SESSION_API_KEY"}
    tell("Starting a server ...")
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        url = f"http://127.0.0.1:{port}"
        wait(lambda: _is_ready(url) or _has_died(process, log), "the server", seconds=180)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def _is_ready(url: str) -> bool:
    with contextlib.suppress(urllib.error.URLError, OSError):
        return urllib.request.urlopen(f"{url}/ready", timeout=5).status == 200
    return False


def _has_died(process: subprocess.Popen[bytes], log: Path) -> bool:
    if process.poll() is not None:
        raise Unproven(f"the server ended at once:\n{log.read_text()[-3000:]}")
    return False
