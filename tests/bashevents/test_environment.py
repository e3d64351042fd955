"""The environment of commands: everything of the server's but its secrets, wherever one looks."""

import subprocess
import sys
from pathlib import Path

from tests.contract.kit import Bash
from tests.support.server import OwnServer

CANARIES = {
    "OH_SESSION_API_KEYS_0": "canary-session-key-0",
    "SESSION_API_KEY": "canary-session-key-old",
    "OH_SECRET_KEY": "canary-secret-key",
    "OH_PREVIOUS_SECRET_KEYS_0": "canary-previous-key",
    "REDIS_URL": "",
    "DJANGO_SECRET_KEY": "canary-django",
    "OH_WEBHOOKS_0_BASE_URL": "http://127.0.0.1:9/canary-hook",
    "SOME_OTHER_NAME": "holds canary-secret-key inside",
}


def test_no_secret_reaches_a_command_nor_the_block_the_kernel_shows(tmp_path):
    server = OwnServer(tmp_path / "server", **CANARIES, HARMLESS="stays")
    try:
        bash = Bash(server.start().http)
        look = "env; echo; tr '\\0' '\\n' < /proc/self/environ; echo; tr '\\0' '\\n' < /proc/$PPID/environ"
        seen = bash.execute(look)["stdout"]
    finally:
        server.stop()

    assert "HARMLESS=stays" in seen
    assert "canary" not in seen


def test_a_short_secret_does_not_take_unrelated_variables_along():
    code = (
        "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'agentserver.settings'\n"
        "from agentserver.environment import child_environment\n"
        "e = child_environment()\n"
        "print('KEEPS' in e, 'SAME' in e, 'OH_SECRET_KEY' in e, 'PATH' in e)"
    )
    environment = {"PATH": "/usr/bin:/bin", "OH_SECRET_KEY": "abc", "KEEPS": "xabcx", "SAME": "abc"}
    root = Path(__file__).resolve().parents[2]

    out = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=root, capture_output=True, text=True, check=True
    ).stdout

    assert out.split() == ["True", "False", "False", "True"]
