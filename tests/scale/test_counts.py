"""Counts of a cluster, all of whose processes change them at once: more often than may wait to be folded."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from conversations import tallies
from tests.contract.dialogue import finish
from tests.support import cluster
from tests.support.counting import assert_counts_are_right
from tests.support.server import data_directory

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture
def changes_waiting(scaled, services):
    """Callable: how many changes nobody has folded."""
    url = cluster.environment(str(data_directory(scaled.root)), services)["DATABASE_URL"]

    def _waiting():
        with psycopg.connect(url) as connection:
            found = connection.execute(
                "SELECT count(*) FROM conversations_conversationtally WHERE NOT folded"
            )
            return found.fetchone()[0]

    return _waiting


@pytest.fixture
def ten_at_once():
    """Callable: run these calls, ten at the same time; their results in order."""
    with ThreadPoolExecutor(10) as pool:
        yield lambda *calls: [future.result() for future in [pool.submit(call) for call in calls]]


def test_counts_of_many_processes_are_right_and_stay_small(
    scaled, open_conversation, changes_waiting, wait_until, ten_at_once
):
    conversations = ten_at_once(*[lambda: open_conversation(finish())] * 50)
    for conversation in conversations:
        conversation.wait_finished(timeout=120)
    assert_counts_are_right(scaled.http)

    ten_at_once(*[conversation.delete for conversation in conversations[:25]])

    def counted():
        assert_counts_are_right(scaled.http)
        return changes_waiting() <= tallies.MOST

    wait_until(counted, 20, message="changes folded by those who count")
