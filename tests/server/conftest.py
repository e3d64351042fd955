"""The command line, as a person uses it."""

import os
import subprocess
import sys

import pytest

from tests.support.server import MANAGE


@pytest.fixture
def run(tmp_path):
    """Callable: manage.py with these words and settings; returns how it ended."""

    def _run(*words, **environment):
        named = {"OH_PERSISTENCE_DIR": str(tmp_path / "data"), "HOME": str(tmp_path), **environment}
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith("OH_") and k != "DJANGO_SETTINGS_MODULE"
        }
        command = [sys.executable, str(MANAGE), *words]
        return subprocess.run(
            command, env=kept | named, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )

    return _run
