"""Conversations on the shared server, scripted by the model; the contract suite's drivers serve here too."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contract.conftest import (  # noqa: F401  (fixtures)
    agent_config,
    auth_headers,
    base_url,
    http,
    llm_config,
    llm_stats,
    workspace,
)
from tests.contract.dialogue import talk, unanswered  # noqa: F401
from tests.contract.ownserver import own_server  # noqa: F401


@pytest.fixture
def at_once():
    """Callable: run these calls at the same time, each on a thread; their results in order."""
    with ThreadPoolExecutor(50) as pool:
        yield lambda *calls: [future.result() for future in [pool.submit(call) for call in calls]]


@pytest.fixture
def at_peace(wait_until):
    """Callable: wait until nothing goes on; then every tool call has one result and no model refused."""

    def _at_peace(conversation):
        wait_until(lambda: conversation.status != "running", 30, message="end of the run")
        assert unanswered(conversation.events()) == []
        statuses = {call["status"] for call in conversation.llm_calls() if call["outcome"] == "finished"}
        assert statuses <= {200}, "a strict model refused the history"

    return _at_peace
