"""Repositories, and a client of the shared server."""

import os
import subprocess

import httpx
import pytest


class Repository:
    """A git repository on disk."""

    def __init__(self, path):
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments):
        named = (
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.org",
            "-c",
            "protocol.file.allow=always",
        )
        environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        done = subprocess.run(
            ["git", *named, *arguments], cwd=self.path, env=environment, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def write(self, name, content):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def commit(self, files):
        """Write ``files`` (content by name), commit everything, return the hash."""
        for name, content in files.items():
            self.write(name, content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a commit")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def make_repository(tmp_path):
    """Callable: a new repository of that name."""
    return lambda name="repository": Repository(tmp_path / name)


@pytest.fixture
def http(agent_server):
    """A client of the shared server."""
    with httpx.Client(base_url=agent_server.url, headers=agent_server.headers, timeout=30) as client:
        yield client
