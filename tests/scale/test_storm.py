"""Runners, web processes, Redis and PostgreSQL die under load: nothing promised is lost, nothing done twice.

The short storm always runs. The long one, of five minutes and fifty conversations, is for
``STORM_SECONDS=300 STORM_USERS=50``.
"""

import os
from collections import Counter

import psycopg
import pytest

from tests.contract.dialogue import message_texts, unanswered
from tests.scale.storm import Storm
from tests.scale.users import AT_REST, EFFECTS, User
from tests.support import services

SECONDS = int(os.environ.get("STORM_SECONDS", "40"))
USERS = int(os.environ.get("STORM_USERS", "6"))
EVERY = float(os.environ.get("STORM_EVERY", "12"))
SEED = int(os.environ.get("STORM_SEED", "1"))
RECOVERY = os.environ.get("STORM_RECOVERY", "resume")
STARTS, CALM = 180, 180
"""Seconds: until the cluster is there; until all is at rest after the storm."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(SECONDS + STARTS + CALM + 300),
    pytest.mark.skipif(bool(services.missing()), reason=services.missing() or "-"),
]


@pytest.fixture
def storm(tmp_path):
    made = Storm(tmp_path, runners=2, OH_MAX_CONCURRENT_RUNS=str(max(10, USERS)), OH_CRASH_RECOVERY=RECOVERY)
    try:
        made.cluster.start(timeout=STARTS).wait_ready(STARTS)
        yield made
    finally:
        made.close()


def test_nothing_promised_is_lost_and_nothing_done_twice_in_a_storm(storm, llm_url, tmp_path, wait_until):
    http = storm.cluster.http
    users = [User(storm.cluster.url, llm_url, tmp_path, n, pace=max(1, USERS / 10)) for n in range(USERS)]
    for user in users:
        user.start()

    storm.rage(SECONDS, EVERY, SEED)
    for user in users:
        user.end()

    def resting():
        return all(http.get(user.path).json()["execution_status"] in AT_REST for user in users)

    try:
        wait_until(resting, CALM, interval=0.5, message="all at rest")
        wait_until(lambda: not unheard(storm), CALM, interval=0.5, message="all that was asked done")
    finally:
        print("\n".join(["", *storm.log]))
        print(told(users, http))
    records = {user: record(http, user) for user in users}
    wait_until(lambda: all(has_all(user, records[user]) for user in users), 30, message="all on the sockets")
    for user in users:
        user.leave()
    problems = [problem for user in users for problem in problems_of(user, records[user], http)]
    problems += [f"two model calls at once: {one}" for one in http_overlaps(llm_url)]
    problems += broken_rows(storm)
    assert not problems, "\n".join(problems)


def told(users, http):
    statuses = Counter(http.get(user.path).json()["execution_status"] for user in users)
    sent, kept = sum(len(user.tried) for user in users), sum(len(user.acknowledged) for user in users)
    effects = sum(len((user.directory / EFFECTS).read_text().split()) for user in users)
    return f"{sent} messages sent, {kept} acknowledged, {effects} tool calls with effect, {dict(statuses)}"


def record(http, user):
    """All events of the user's conversation, oldest first."""
    events, page = [], None
    while True:
        answer = http.get(
            f"{user.path}/events/search", params={"limit": 100, **({"page_id": page} if page else {})}
        ).json()
        events += answer["items"]
        page = answer.get("next_page_id")
        if not page:
            return events


def has_all(user, events):
    return {event["id"] for event in events} <= set(user.received.values())


def problems_of(user, events, http):
    """What was promised to this user and not kept."""
    name = f"user {user.number} ({user.id})"
    yield from (f"{name}: {complaint}" for complaint in user.complaints)
    ids = [event["id"] for event in events]
    if len(ids) != len(set(ids)):
        yield f"{name}: an event is there twice"
    if set(user.received.values()) != set(ids):
        yield f"{name}: the socket showed {set(user.received.values()) ^ set(ids)} differently"
    if sorted(user.received) != list(range(len(ids))):
        yield f"{name}: gaps on the socket: {sorted(user.received)}"
    if calls := unanswered(events):
        yield f"{name}: calls without a result: {calls}"
    twice = [t for t, n in Counter((user.directory / EFFECTS).read_text().split()).items() if n > 1]
    if twice:
        yield f"{name}: executed twice: {twice}"
    yield from (f"{name}: {problem}" for problem in broken_promises(user, events))
    errors = [event for event in events if event["kind"] == "ConversationErrorEvent"]
    status = http.get(user.path).json()["execution_status"]
    last = user.tried[-1] in user.interrupted_after
    if status != "finished" and not (last and status in ("paused", "idle")):
        yield f"{name}: ended {status} with {errors}"


def broken_promises(user, events):
    texts = message_texts(events, "user")
    for marker in user.tried:
        found = sum(marker in text for text in texts)
        if found > 1 or (found == 0 and marker in user.acknowledged):
            yield f"message {marker} is there {found} times"
    said = [marker for text in texts for marker in user.tried if marker in text]
    log = str([event for event in events if event["kind"] == "ActionEvent"])
    for marker, following in zip(said, [*said[1:], None], strict=True):
        if f"answer {marker}" not in log and following is None and marker not in user.interrupted_after:
            yield f"message {marker} was not answered"


def http_overlaps(llm_url):
    """Of these users: others may have been cut off on purpose."""
    import httpx

    overlapping = httpx.get(f"{llm_url}/stats").json()["overlapping"]
    return [marker for marker in overlapping if marker.startswith("chaos-")]


def unheard(storm):
    """What is asked and not done, and jobs that somebody should be doing."""
    with psycopg.connect(storm.database) as connection:
        commands = connection.execute("SELECT count(*) FROM conversations_command WHERE failure = ''")
        intents = connection.execute(
            "SELECT count(*) FROM conversations_conversation WHERE intent IS NOT NULL"
        )
        jobs = connection.execute("SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'tend'")
        return [*commands.fetchone(), *intents.fetchone(), *jobs.fetchone()] != [0, 0, 0]


def broken_rows(storm):
    """Conversations whose events are not numbered 0, 1, 2 ... up to what their row says."""
    with psycopg.connect(storm.database) as connection:
        rows = connection.execute(
            "SELECT c.id, c.next_sequence, count(e.id), max(e.sequence) FROM conversations_conversation c"
            " JOIN conversations_event e ON e.conversation_id = c.id GROUP BY c.id"
        )
        return [f"rows: {row}" for row in rows if not row[1] == row[2] == row[3] + 1]
