"""The writer: what is acknowledged is committed, one failure stays one, and closing loses nothing."""

import threading
import uuid

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from agentserver.writer import Closed, Writer
from conversations.models import Conversation

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]


@pytest.fixture
def writer():
    """A writer of this test's own, closed in the end."""
    writer = Writer()
    yield writer
    writer.close()


@pytest.fixture
def insert():
    """Callable: an operation that stores a conversation with this title."""

    def _insert(title, key=None):
        now = timezone.now()
        return lambda: Conversation.objects.create(
            id=key or uuid.uuid4(), title=title, workspace_dir="w", created_at=now, updated_at=now
        )

    return _insert


@pytest.fixture
def held(writer):
    """Callable: keeps the writer busy until called again, so that what comes meanwhile is one batch."""
    release = threading.Event()
    busy = threading.Event()

    def _wait():
        busy.set()
        assert release.wait(10)

    blocker = writer.submit(_wait)
    assert busy.wait(10)
    yield lambda: (release.set(), blocker.result(10))
    release.set()


@pytest.fixture
def commits(monkeypatch):
    """The number of transactions begun, as a list that grows."""
    begun = []
    real = transaction.atomic

    def counted(*args, **kwargs):
        begun.append(1)
        return real(*args, **kwargs)

    monkeypatch.setattr("agentserver.writer.transaction.atomic", counted)
    return begun


def titles():
    return set(Conversation.objects.values_list("title", flat=True))


def test_a_caller_returns_when_its_row_is_committed(writer, insert):
    created = writer.call(insert("one"))

    # Another connection sees it: this thread's.
    assert Conversation.objects.get(id=created.id).title == "one"


def test_what_waits_together_is_one_transaction(writer, insert, held, commits):
    waiting = [writer.submit(insert(f"n{n}")) for n in range(20)]
    held()

    for future in waiting:
        future.result(10)
    assert len(titles()) == 20
    assert len(commits) == 1


def test_nothing_is_visible_before_the_whole_batch_is_committed(writer, insert, held):
    seen = []
    # On SQLite the reader is another connection too, and sees the last commit.
    first = writer.submit(insert("first"), after=lambda _row: seen.append("committed"))
    second = writer.submit(lambda: seen.append(_titles_of_another_connection()))
    held()

    first.result(10), second.result(10)
    assert seen == [set(), "committed"]


def _titles_of_another_connection():
    found = []
    reader = threading.Thread(target=lambda: (found.append(titles()), connection.close()))
    reader.start()
    reader.join(10)
    return found[0]


def test_one_failing_operation_does_not_fail_its_neighbours(writer, insert, held):
    key = uuid.uuid4()
    good = [writer.submit(insert("before", key))]
    bad = writer.submit(insert("same key", key))
    good.append(writer.submit(insert("after")))
    held()

    for future in good:
        future.result(10)
    with pytest.raises(IntegrityError):
        bad.result(10)
    assert titles() == {"before", "after"}


def test_a_failed_operation_raises_its_own_error_and_leaves_the_writer_working(writer, insert):
    def fail():
        Conversation.objects.create(
            title="half", workspace_dir="w", created_at=timezone.now(), updated_at=timezone.now()
        )
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        writer.call(fail)

    writer.call(insert("next"))
    assert titles() == {"next"}


def test_notices_come_after_the_commit_in_the_order_of_the_rows(writer, insert, held):
    told = []
    futures = [
        writer.submit(insert(f"n{n}"), after=lambda row: told.append((row.title, row.title in titles())))
        for n in range(10)
    ]
    held()

    for future in futures:
        future.result(10)
    assert told == [(f"n{n}", True) for n in range(10)]


def test_a_failing_notice_fails_neither_its_row_nor_the_next(writer, insert, caplog):
    def fail(_row):
        raise LookupError("nobody listens")

    writer.call(insert("one"), after=fail)
    writer.call(insert("two"))

    assert titles() == {"one", "two"}
    assert "notice after a commit failed" in caplog.text


def test_many_threads_lose_no_row(writer, insert):
    errors = []

    def work(name):
        try:
            for n in range(25):
                writer.call(insert(f"{name}-{n}"))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert errors == []
    assert len(titles()) == 200


def test_closing_writes_what_is_queued(writer, insert, held):
    waiting = [writer.submit(insert(f"n{n}")) for n in range(5)]
    closing = threading.Thread(target=writer.close)
    closing.start()
    held()
    closing.join(10)

    for future in waiting:
        future.result(0)
    assert len(titles()) == 5


def test_a_closed_writer_refuses(writer, insert):
    writer.call(insert("one"))
    writer.close()

    with pytest.raises(Closed):
        writer.submit(insert("two"))
    assert titles() == {"one"}


def test_a_lost_connection_is_replaced(writer, insert):
    def lose():
        connection.close()
        connection.ensure_connection()
        connection.connection.close()  # as if the server had cut it

    with pytest.raises(Exception):  # noqa: B017  (each driver has its own)
        writer.call(lambda: (lose(), Conversation.objects.count()))

    writer.call(insert("after"))
    assert titles() == {"after"}
