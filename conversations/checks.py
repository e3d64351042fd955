"""System checks: what a conversation needs of the machine."""

import shutil

from django.core.checks import Warning, register


@register
def tmux_is_installed(app_configs, **options):
    """Without tmux an interrupted command of the agent is not reached by Ctrl-C."""
    if shutil.which("tmux"):
        return []
    return [
        Warning(
            "tmux is not installed: the agent's terminal falls back to a simpler backend, and the server "
            "ends interrupted commands itself.",
            hint="Install it, for example: apt-get install tmux",
            id="conversations.W001",
        )
    ]
