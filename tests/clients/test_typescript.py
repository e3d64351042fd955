"""The published TypeScript client, unmodified, drives settings, profiles, a conversation, bash and files."""

import json
import subprocess

import pytest


@pytest.fixture
def client(npm_project):
    """A directory with the client as package-lock.json pins it."""
    return npm_project("typescript")


@pytest.mark.timeout(480)
def test_the_typescript_client_finds_what_it_needs(client, server, llm_url, tmp_path):
    directory = tmp_path / "workspace"
    directory.mkdir()
    asked = {
        "host": server.url,
        "apiKey": server.options["OH_SESSION_API_KEYS_0"],
        "llmUrl": llm_url,
        "directory": str(directory),
    }
    command = ["node", "drive.mjs", json.dumps(asked)]
    driven = subprocess.run(command, cwd=client, capture_output=True, text=True, timeout=240)

    assert driven.returncode == 0, driven.stdout + driven.stderr
