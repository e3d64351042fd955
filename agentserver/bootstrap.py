"""The process environment that the agent SDK needs before anybody imports it.

Imported first by manage.py, asgi.py and every runner. Each line answers a trap of the SDK's
import; measured with openhands-sdk 1.58.2.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

MODEL_CLIENT = "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"

# Setting: why.
_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else litellm fetches its price map while importing
    "LITELLM_MODE": "PRODUCTION",  # else litellm loads a .env of the working directory
    "OPENHANDS_SUPPRESS_BANNER": "1",
    # Else the OpenAI client compares all of a conversation with its type hints, at each step: of 245 ms
    # CPU for a step after 400 events 160 (docs/decisions/0015). litellm's own switch, read at each call.
    MODEL_CLIENT: "true",
}


def prepare(argv: Sequence[str] = ()) -> None:
    """Set the environment; safe to call more than once.

    ``argv``: the command line. Its ``--data DIR`` becomes ``OH_PERSISTENCE_DIR`` here because
    Django reads the settings, and so the place of the database, before it parses a command.
    """
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    os.environ["LOG_AUTO_CONFIG"] = "false"  # whatever it was: else the SDK reconfigures the root logger
    os.environ.pop("DEBUG_LLM", None)  # the SDK would ask a question on stdin and hang
    data = _option(argv, "--data")
    if data:
        os.environ["OH_PERSISTENCE_DIR"] = str(Path(data).absolute())


def _option(argv: Sequence[str], name: str) -> str | None:
    """The value of ``--name value`` or ``--name=value`` in ``argv``."""
    for position, word in enumerate(argv):
        if word == name and position + 1 < len(argv):
            return argv[position + 1]
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None


prepare(sys.argv if sys.argv and sys.argv[0].endswith("manage.py") else ())
