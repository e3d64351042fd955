"""The published TypeScript client, unmodified, drives settings, profiles, a conversation, bash and files."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.server import OwnServer

HERE = Path(__file__).parent / "typescript"
KEY = "typescript-session-key"


@pytest.fixture
def client(tmp_path):
    """A directory with the client as package-lock.json pins it."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed, so there is no TypeScript client to drive the server with")
    directory = tmp_path / "client"
    shutil.copytree(HERE, directory, ignore=shutil.ignore_patterns("node_modules"))
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    installed = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=180)
    if installed.returncode and "CI" not in os.environ:
        pytest.skip("the npm registry cannot be reached from here")
    assert installed.returncode == 0, installed.stderr
    return directory


@pytest.fixture
def server(tmp_path):
    server = OwnServer(tmp_path / "server", OH_SESSION_API_KEYS_0=KEY)
    try:
        yield server.start().wait_ready()
    finally:
        server.stop()


@pytest.mark.timeout(480)
def test_the_typescript_client_finds_what_it_needs(client, server, llm_url, tmp_path):
    directory = tmp_path / "workspace"
    directory.mkdir()
    asked = {"host": server.url, "apiKey": KEY, "llmUrl": llm_url, "directory": str(directory)}
    command = ["node", "drive.mjs", json.dumps(asked)]
    driven = subprocess.run(command, cwd=client, capture_output=True, text=True, timeout=240)

    assert driven.returncode == 0, driven.stdout + driven.stderr
