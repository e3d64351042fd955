"""A server's counts, seen from outside by its operator and by two users."""

import contextlib

import httpx
import pytest

from tests.auth.test_limits import token_of
from tests.contract.dialogue import Dialogue, finish, think
from tests.support.counting import assert_counts_are_right, assert_events_are_counted

OPERATORS_KEY = "the-operators-key"


@pytest.fixture
def people(own_server):
    """Clients of the operator and of two users of a server."""
    server = own_server(OH_SESSION_API_KEYS_0=OPERATORS_KEY, OH_SECRET_KEY="tests-secret-key").wait_ready()
    with contextlib.ExitStack() as clients:
        yield [
            clients.enter_context(
                httpx.Client(base_url=server.url, headers={"X-Session-API-Key": key}, timeout=60)
            )
            for key in (OPERATORS_KEY, token_of("ann", server), token_of("bob", server))
        ]


@pytest.fixture
def opened(people, llm_url, agent_config, workspace):
    """Callable: a conversation of the person with this number, with these steps."""
    return lambda number, *steps: Dialogue.open(people[number], llm_url, agent_config, workspace, *steps)


def test_counts_are_what_each_person_finds(people, opened, at_once):
    conversations = at_once(*[lambda number=number: opened(number % 3) for number in range(50)])
    for http in people:
        assert_counts_are_right(http)

    ran = [opened(number, think("so"), finish()) for number in (0, 1, 1, 2)]
    for conversation in ran:
        conversation.wait_finished()
        assert_events_are_counted(conversation)
    for http in people:
        assert_counts_are_right(http)

    forks = [conversation.fork() for conversation in ran]
    for fork in forks:
        assert_events_are_counted(fork)
    at_once(*[conversation.delete for conversation in (*conversations[:20], ran[1], forks[0])])
    for http in people:
        assert_counts_are_right(http)
    assert [http.get("/api/conversations/count").json() for http in people] == [36, 13, 12]
