"""The command line: `agentserver serve`, `prune`, `doctor`, ...; what it does not know is Django's.

The names here are what one types most; each is a management command, which `manage.py` in a clone
runs as well.
"""

import os
import sys
from collections.abc import Sequence
from importlib import metadata

COMMANDS = {
    "serve": ("serve", "REST, WebSockets and the dashboard, on http://127.0.0.1:8000"),
    "demo": ("demo", "a conversation that is paused, interrupted and resumed; needs no model"),
    "doctor": ("doctor", "look for what is missing here, and say what to do"),
    "migrate": ("migrate", "make or change the tables; `serve` does it by itself on SQLite"),
    "prune": ("prune_bash_events", "delete old bash events, for cron: prune --older-than 7d"),
    "token": ("create_token", "make an API token for an account: token NAME"),
}
"""What one types: the command of Django's command line, and a line about it."""
DJANGO = (
    "run_conversations",
    "createsuperuser",
    "import_conversations",
    "export_conversation",
    "check",
    "shell",
    "help",
)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line; ends the process with a sentence and code 1 for what is refused."""
    words = list(sys.argv if argv is None else argv)
    if words[1:] in ([], ["--help"], ["-h"]):
        sys.stdout.write(usage())
        return
    if words[1:] == ["--version"]:
        sys.stdout.write(f"{metadata.version('agentserver')}\n")
        return
    # People who start it this way open the Agent Canvas UI next, which needs that to start a chat.
    os.environ.setdefault("OH_EXPOSE_ENCRYPTED_SECRETS", "true")
    words = ["agentserver", *_translated(words[1:])]
    # Django and the settings look at sys.argv themselves.
    sys.argv = words
    run(words)


def run(words: Sequence[str]) -> None:
    """Run a command by the name that Django knows it by; ``words[0]`` is the program's."""
    from agentserver import bootstrap

    bootstrap.prepare(words)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentserver.settings")
    from agentserver import conf

    try:
        _dispatch(list(words))
    except conf.ConfigurationError as error:
        sys.exit(str(error))


def _dispatch(words: list[str]) -> None:
    if words[1:2] == ["serve"]:
        # The long way through Django's command line would import all of it before listening.
        from agentserver import serving

        if serving.main(words[2:]):
            return
    if words[1:2] == ["demo"]:
        # A client: it must not make a data directory for itself, as Django's settings do.
        from agentserver.demo import showing

        sys.exit(showing.main(words[2:]))
    from django.core.management import execute_from_command_line

    execute_from_command_line(words if words[1:2] == ["serve"] else _without_data(words))


def _translated(words: list[str]) -> list[str]:
    known, *rest = words
    return [COMMANDS.get(known, (known,))[0], *rest]


def _without_data(words: list[str]) -> list[str]:
    """Without ``--data DIR``, which is in the environment by now and which Django would not know."""
    kept, skip = [], False
    for word in words:
        if not (skip or word == "--data" or word.startswith("--data=")):
            kept.append(word)
        skip = word == "--data"
    return kept


def usage() -> str:
    lines = "".join(f"  {name:<9}{about}\n" for name, (_, about) in COMMANDS.items())
    return (
        "usage: agentserver COMMAND [--data DIR] [options]\n\n"
        f"{lines}\n"
        f"Also Django's, among them {', '.join(DJANGO)}.\n"
        "`agentserver COMMAND --help` tells the options of each.\n"
    )
