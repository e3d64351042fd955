"""The shared server, its scripted model, and a way to run a program of examples/ against both."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.conftest import (  # noqa: F401  (fixtures)
    agent_config,
    auth_headers,
    base_url,
    http,
    llm_config,
    start,
    workspace,
)
from tests.support.server import NOT_INHERITED

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def example(agent_server, llm_url, tmp_path):
    """Callable: run an example to its end, as typed in an empty directory; exit code and output."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("OH_") and k not in NOT_INHERITED}
    environment = {
        **kept,
        "AGENT_SERVER_URL": agent_server.url,
        "LLM_MODEL": "openai/fake-model",
        "LLM_BASE_URL": f"{llm_url}/v1",
        "LLM_API_KEY": "none",
    }

    def _run(name, *words, **more):
        program = [sys.executable] if name.endswith(".py") else []
        done = subprocess.run(
            [*program, EXAMPLES / name, *map(str, words)],
            cwd=tmp_path,
            env={**environment, **more},
            capture_output=True,
            text=True,
            timeout=110,
        )
        return done.returncode, done.stdout + done.stderr

    return _run
