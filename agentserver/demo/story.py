"""What the demo model says: a short fixed story, told with real terminal commands.

The model keeps no state: how far the story has come is read from the messages it is given.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

MODEL = "demo"

SCRIPT = """\
cat > demo_count.sh <<'END'
for number in 1 2 3 4 5; do
  echo "line $number of 5" | tee -a demo_lines.txt
  sleep 0.5
done
END
rm -f demo_lines.txt; ls -l demo_count.sh"""


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer. ``seconds``: before it is complete, so that a person can pause or interrupt it."""

    say: str
    seconds: float
    tool: str | None = None
    arguments: dict[str, Any] | None = None


def _command(say: str, seconds: float, command: str) -> Turn:
    return Turn(say, seconds, "terminal", {"command": command})


STORY = (
    _command("I write a small script that counts to five.", 1.5, SCRIPT),
    _command("I run it; it takes some seconds.", 1.5, "sh demo_count.sh"),
    _command(
        "Now I think slowly about what I have seen, so that you can interrupt me in the middle of it: "
        "the script wrote one line for each number, and I will count them to be sure.",
        6,
        "wc -l < demo_lines.txt",
    ),
    _command("Five lines, as expected. I tidy up.", 1.5, "rm -v demo_count.sh demo_lines.txt"),
)
END = "The demo is over: I wrote a script, ran it, counted its lines and tidied up."
NO_TERMINAL = (
    "I am the demo model: all I can do is a short story with the tool `terminal`, which I was not given."
)


def next_turn(messages: Iterable[dict[str, Any]], tools: set[str]) -> Turn:
    """The answer to ``messages`` (OpenAI's form) from a model that may call ``tools``."""
    if not tools:
        return Turn("A short demo", 0.1)  # the SDK asks for the conversation's title
    if "terminal" not in tools:
        return _last(NO_TERMINAL, tools)
    told = _turns_since_the_last_request(messages)
    return STORY[told] if told < len(STORY) else _last(END, tools)


def _last(say: str, tools: set[str]) -> Turn:
    if "finish" in tools:
        return Turn("", 0.5, "finish", {"message": say})
    return Turn(say, 0.5)


def _turns_since_the_last_request(messages: Iterable[dict[str, Any]]) -> int:
    told = 0
    for message in messages:
        if message.get("role") == "user":
            told = 0
        elif message.get("role") == "assistant":
            told += 1
    return told
