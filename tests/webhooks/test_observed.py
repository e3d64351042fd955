"""Operators see how much webhooks have yet to post, and that one fails; clients are not kept away."""

import pytest
from django.utils import timezone
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from agentserver.observability import health, metrics
from agentserver.webhooks import reads
from tests.webhooks.conftest import say


@pytest.fixture
def metric(monkeypatch):
    """Callable: the sum of a metric's samples, counted anew."""

    def _metric(name):
        monkeypatch.setattr(reads, "_counted", None)
        families = text_string_to_metric_families(generate_latest(metrics.REGISTRY).decode())
        return sum(s.value for f in families for s in f.samples if s.name == f"agentserver_{name}")

    return _metric


def test_what_waits_and_what_fails_is_in_the_metrics(make_hook, talk, make_event, metric):
    make_hook(failing_since=timezone.now())
    make_hook(enabled=False)
    conversation = talk(3)
    talk(2)
    before = metric("webhook_events_waiting")
    say(make_event, conversation, 4)

    assert before >= 5
    assert metric("webhook_events_waiting") - before == 4
    assert metric("webhook_conversations_waiting") == 2
    assert metric("webhooks_unwell") == 2


@pytest.mark.parametrize(("failing", "state"), [(True, "failing"), (False, "ok")])
def test_a_failing_receiver_is_told_and_leaves_the_server_ready(make_hook, monkeypatch, failing, state):
    make_hook(failing_since=timezone.now() if failing else None)
    monkeypatch.setattr(reads, "_counted", None)

    part = next(part for part in health.parts() if part.name == "webhooks")

    assert (part.ok, part.state) == (True, state)


def test_a_database_that_is_away_takes_only_these_metrics_along(metric, monkeypatch):
    def away():
        raise ConnectionError

    monkeypatch.setattr(reads, "backlog", away)

    assert metric("webhook_events_waiting") != metric("webhook_events_waiting")  # not a number
    assert metric("writer_queue") == 0
