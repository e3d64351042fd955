"""Names of profiles, secrets and servers: safe in paths and file names on every route."""

import re

from agentserver.errors import invalid

PROFILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
SECRET = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
MCP_SERVER = re.compile(r"[^/\x00-\x1f\x7f]{1,128}")


def profile(name: str, loc: str = "name") -> str:
    """The name under which a profile is stored (``x.json`` is ``x``). Raises Invalid (422)."""
    name = name.removesuffix(".json")
    if not PROFILE.fullmatch(name):
        raise invalid(
            ["path", loc],
            "A name has 1 to 64 letters, digits, '.', '_' and '-', and begins with a letter or digit.",
            "string_pattern_mismatch",
        )
    return name


def secret(name: str) -> str:
    """Raises Invalid (422)."""
    if not SECRET.fullmatch(name):
        raise invalid(
            ["name"],
            "A secret's name has 1 to 64 letters, digits and '_', and begins with a letter.",
            "string_pattern_mismatch",
        )
    return name


def mcp_server(name: str) -> str:
    """Raises Invalid (422)."""
    if not MCP_SERVER.fullmatch(name):
        raise invalid(
            ["path", "settings_key"],
            "An MCP server's name has 1 to 128 printable characters.",
        )
    return name
