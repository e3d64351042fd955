"""The project's settings for tests: a home and a data directory of their own, made before anybody reads them.

``TEST_DATABASE_URL`` and ``TEST_REDIS_URL`` put the tests on another engine.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_ROOT = Path(tempfile.mkdtemp(prefix="agentserver-tests-"))
atexit.register(shutil.rmtree, _ROOT, ignore_errors=True)


def _isolate(environment: os._Environ[str]) -> None:
    """Leave nothing of this machine's person or server in the environment."""
    for name in [name for name in environment if name.startswith("OH_")]:
        del environment[name]
    for name in ("SESSION_API_KEY", "DATABASE_URL", "REDIS_URL", "OPENHANDS_AGENT_SERVER_CONFIG_PATH"):
        environment.pop(name, None)
    # Git and tmux, which tests start, would look into the person's home as well.
    (_ROOT / "home").mkdir()
    environment["HOME"] = str(_ROOT / "home")
    environment["OH_PERSISTENCE_DIR"] = str(_ROOT / "data")
    for ours, theirs in (("DATABASE_URL", "TEST_DATABASE_URL"), ("REDIS_URL", "TEST_REDIS_URL")):
        if theirs in environment:
            environment[ours] = environment[theirs]


_isolate(os.environ)

from agentserver.settings import *  # noqa: E402, F403

# Made users log in quickly: the real hashers take a tenth of a second on purpose.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
