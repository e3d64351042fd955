"""When a failed post is tried again, and what a receiver may ask for."""

import datetime
import email.utils

import pytest

from agentserver.webhooks import backoff, posting


def delays(hook, count, **options):
    return [backoff.delay(hook, n, None, spread=0.5, **options) for n in range(1, count + 1)]


def test_the_repetitions_keep_the_webhooks_own_delay_and_then_it_doubles_up_to_five_minutes(hook):
    assert delays(hook(num_retries=2, retry_delay=5), 10) == [5, 5, 5, 10, 20, 40, 80, 160, 300, 300]


def test_without_a_delay_of_its_own_a_webhook_does_not_hammer(hook):
    assert delays(hook(num_retries=2, retry_delay=0), 6) == [0, 0, 0.5, 1, 2, 4]


def test_conversations_that_failed_together_do_not_come_back_together(hook):
    waits = {backoff.delay(hook(), 6, None) for _ in range(20)}

    assert len(waits) == 20
    assert max(waits) <= 1.25 * 20
    assert min(waits) >= 0.75 * 20


def test_what_the_receiver_asks_for_is_the_least(hook):
    assert 3 <= backoff.delay(hook(num_retries=0, retry_delay=500), 9, 3.0) <= 4


def test_no_number_of_failures_is_too_many(hook):
    assert backoff.delay(hook(), 10**6, None, spread=1) == 375


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3", 3),
        ("0", 0),
        (" 7 ", 7),
        ("999999999", 3600),
        ("-3", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_in_seconds(text, seconds):
    assert posting.retry_after(text) == seconds


def test_retry_after_as_a_date():
    now = datetime.datetime.now(datetime.UTC)
    coming = email.utils.format_datetime(now + datetime.timedelta(seconds=90), usegmt=True)
    gone = email.utils.format_datetime(now - datetime.timedelta(days=1), usegmt=True)

    assert 80 < posting.retry_after(coming) <= 90
    assert posting.retry_after(gone) == 0
