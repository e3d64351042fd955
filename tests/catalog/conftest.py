"""A client of the running server, and an MCP server that asks its clients to sign in."""

import subprocess
import sys

import httpx
import pytest

from tests.support.waiting import free_port, wait_until

SIGNED_SERVER = """
import sys
from fastmcp import FastMCP
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from mcp.server.auth.settings import ClientRegistrationOptions

port = int(sys.argv[1])
options = ClientRegistrationOptions(enabled=True)
server = FastMCP("signed", auth=InMemoryOAuthProvider(
    base_url=f"http://127.0.0.1:{port}", client_registration_options=options))

@server.tool
def add(a: int, b: int) -> int:
    return a + b

server.run(transport="http", host="127.0.0.1", port=port, show_banner=False)
"""


@pytest.fixture(scope="session")
def http(agent_server):
    with httpx.Client(base_url=agent_server.url, headers=agent_server.headers, timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def signed_server(tmp_path_factory):
    """Address of an MCP server that wants OAuth, with itself as the place to sign in."""
    port, tmp_path = free_port(), tmp_path_factory.mktemp("signed")
    script = tmp_path / "signed_server.py"
    script.write_text(SIGNED_SERVER)
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, script, str(port)], stdout=log, stderr=log)

    def answers():
        try:
            return httpx.get(f"http://127.0.0.1:{port}/mcp").status_code == 401
        except httpx.HTTPError:
            return False

    try:
        wait_until(answers, 60, message="MCP server")
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(10)
