"""The SDK's tmux terminal, made to wait for its prompt instead of for a tenth of a second.

When it clears the screen (after it has been made, and after each command) the SDK types ``clear`` and
goes on after 0.1 s. A shell that takes longer, as on a busy machine, prints its prompt in the middle
of the next command, which then counts as ended: exit code 0, no output, while it still runs.
"""

import logging
import time
from typing import Any

logger = logging.getLogger(__name__)

PROMPT_SECONDS = 10.0
"""How long a shell may take to its prompt; then the next command is typed all the same."""
LOOK_SECONDS = 0.01


def install() -> None:
    """Let every terminal of this process wait. Needs the SDK's tools; once is enough."""
    from openhands.tools.terminal.terminal.tmux_terminal import TmuxTerminal

    TmuxTerminal.clear_screen = clear_screen  # ty: ignore[invalid-assignment]


def clear_screen(terminal: Any) -> None:
    """Empty the screen and its history; returns when the shell's prompt is all there is. Worker thread.

    The terminal is reset first, so that no prompt of before can be mistaken for the new one.
    """
    terminal.pane.cmd("send-keys", "-R")
    terminal.pane.send_keys("clear", enter=True)
    deadline = time.monotonic() + PROMPT_SECONDS
    while not _is_prompt(_visible(terminal)):
        if time.monotonic() > deadline:
            logger.warning("A terminal did not come back to its prompt")
            break
        time.sleep(LOOK_SECONDS)
    terminal.pane.cmd("clear-history")


def _visible(terminal: Any) -> str:
    return "\n".join(terminal.pane.cmd("capture-pane", "-J", "-p").stdout).strip()


def _is_prompt(text: str) -> bool:
    from openhands.tools.terminal.metadata import CmdOutputMetadata

    found = CmdOutputMetadata.matches_ps1_metadata(text)
    return len(found) == 1 and found[0].group(0).strip() == text
