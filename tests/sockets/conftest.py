"""Sockets on the shared server."""

from tests.contract.conftest import (  # noqa: F401  (fixtures)
    agent_config,
    auth_headers,
    base_url,
    http,
    llm_config,
    llm_stats,
    start,
    workspace,
)
from tests.contract.dialogue import talk  # noqa: F401
from tests.contract.feed import listen  # noqa: F401
from tests.contract.ownserver import own_server  # noqa: F401
