"""Who joins in the middle of an answer that is said in another process hears it from its beginning, once."""

import pytest

from tests.contract.dialogue import Dialogue, say
from tests.contract.feed import Feed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TEXT = "the first half and the second half"
BEGINNING = TEXT[: len(TEXT) // 2]
GAP = 12
"""Seconds between the halves, in which the others join."""


@pytest.fixture
def join(scaled):
    """Callable: a reader of a conversation's session, by whichever web process has its turn."""
    opened = []

    def _join(conversation):
        address = scaled.url.replace("http", "ws", 1) + f"/sockets/session/{conversation.id}"
        opened.append(Feed(address, scaled.headers))
        return opened[-1]

    yield _join
    for feed in opened:
        feed.close()


@pytest.fixture
def speaking(scaled, llm_url, agent_config, workspace):
    """A conversation whose model has said the first half of an answer, or is about to."""
    agent = {**agent_config, "llm": {**agent_config["llm"], "stream": True}}
    steps = [say(TEXT, chunks=2, gap=GAP)]
    conversation = Dialogue.open(scaled.http, llm_url, agent, workspace, *steps)
    yield conversation
    conversation.delete()


def heard(feed):
    """The text that a reader was told, as it would stand on a page."""
    deltas = [frame for frame in list(feed.frames) if frame["type"] == "delta" and frame["kind"] == "text"]
    return "".join(delta["content"] for delta in deltas)


def test_who_joins_in_another_process_hears_an_answer_from_its_beginning(speaking, join, wait_until):
    first = join(speaking)
    wait_until(lambda: heard(first) == BEGINNING, 60, message="the first half")

    others = [join(speaking) for _ in range(4)]  # two in each of the web processes
    for feed in others:
        wait_until(lambda feed=feed: heard(feed) == BEGINNING, 8, message="the beginning for who joined")

    for feed in [first, *others]:
        wait_until(lambda feed=feed: heard(feed) == TEXT, GAP + 10, message="the whole answer")
        started = [frame for frame in feed.frames if frame["type"] == "item_started"]
        assert len(started) == 1
