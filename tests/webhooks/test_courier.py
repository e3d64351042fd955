"""Delivery in this process: every event once, in order, whatever the receiver or another process does."""

import datetime
import threading

import pytest
from django.utils import timezone

from agentserver.webhooks import health, outbox, purge
from agentserver.webhooks.models import Delivery, Webhook
from conversations import removal
from conversations.models import Conversation, Status
from tests.webhooks.conftest import expected, ids, say

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]


def place_of(hook, conversation, holder="somebody"):
    return outbox.look(hook.id, conversation.id, holder)


def soon(seconds=30):
    return timezone.now() + datetime.timedelta(seconds=seconds)


def test_what_waits_in_the_rows_is_posted_at_the_start(make_hook, talk, start_courier, receiver, wait_until):
    make_hook(event_buffer_size=7)
    conversation = talk(20)
    start_courier()
    wait_until(lambda: len(ids(receiver, conversation)) == 20)

    assert ids(receiver, conversation) == expected(20)
    assert [len(batch) for batch in receiver.batches(conversation)] == [7, 7, 7]  # with the first state
    assert receiver.events(conversation)[0]["key"] == "full_state"
    assert len(receiver.infos(conversation)) == 0 or receiver.posts[0].path == "/conversations"


def test_events_that_are_rung_follow(make_hook, talk, start_courier, receiver, make_event, wait_until):
    make_hook()
    courier, conversation = start_courier(), talk()
    courier.notice(conversation.id)
    for _ in range(5):
        say(make_event, conversation, 3)
        courier.overhear(conversation.group, Conversation.objects.count())
    wait_until(lambda: len(ids(receiver, conversation)) == 15)

    assert ids(receiver, conversation) == expected(15)
    assert receiver.overlaps == 0


def test_two_processes_on_one_database_post_each_event_once(
    make_hook, talk, start_courier, receiver, wait_until
):
    make_hook(event_buffer_size=3)
    receiver.delay = 0.01
    talks = [talk(40) for _ in range(3)]
    couriers = [start_courier(), start_courier()]
    for courier in couriers * 3:
        courier.reload()  # both search at once, again and again
    wait_until(lambda: all(len(ids(receiver, one)) >= 40 for one in talks), 30)

    assert [ids(receiver, one) for one in talks] == [expected(40)] * 3
    assert receiver.overlaps == 0


def test_of_many_who_claim_a_post_one_gets_it(make_hook, talk):
    hook, conversation = make_hook(), talk(5)
    place, got, together = place_of(hook, conversation), [], threading.Barrier(8)

    def claim(name):
        from django.db import connection

        together.wait(10)
        if outbox.claim(place, 4, name, soon()):
            got.append(name)
        connection.close()

    threads = [threading.Thread(target=claim, args=[f"process {n}"]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert len(got) == 1
    assert not outbox.claim(place, 4, "another", soon())
    assert place_of(hook, conversation, "another").busy > 0


def test_a_post_whose_process_died_is_taken_over_as_it_was(make_hook, talk, make_event):
    hook, conversation = make_hook(), talk(3)
    assert outbox.claim(place_of(hook, conversation), 2, "dead", timezone.now())
    say(make_event, conversation, 5)
    place = place_of(hook, conversation, "alive")

    assert place.through == 2  # the same batch, under the same key
    assert outbox.claim(place, place.through, "alive", soon())
    assert not outbox.accepted(place, 2, "dead")
    assert outbox.accepted(place, 2, "alive")
    assert place_of(hook, conversation).posted == 3


def test_a_receiver_that_fails_gets_everything_in_order_afterwards(
    make_hook, talk, start_courier, receiver, make_event, wait_until
):
    hook = make_hook(num_retries=100)
    receiver.fail_next = 25
    courier, conversation = start_courier(), talk(8)
    courier.notice(conversation.id)
    for _ in range(10):
        say(make_event, conversation, 5)
        courier.overhear(conversation.group, 57)
    wait_until(lambda: len(ids(receiver, conversation)) == 58)

    assert ids(receiver, conversation) == expected(58)
    assert receiver.overlaps == 0
    wait_until(lambda: Webhook.objects.get(pk=hook.pk).failing_since is None)


def test_a_repeated_post_has_the_same_key_and_body_and_no_other_has(
    make_hook, talk, start_courier, receiver, wait_until
):
    make_hook(event_buffer_size=4)
    seen = {}

    def lossy(post):
        """Every post is accepted the second time it comes: the first answer was lost."""
        seen.setdefault(post.headers["idempotency-key"], []).append(post.raw)
        return (200 if len(seen[post.headers["idempotency-key"]]) == 2 else 500), {}

    receiver.answer, conversation = lossy, talk(10)
    start_courier()
    wait_until(lambda: len(ids(receiver, conversation)) == 10)

    assert all(len(bodies) == 2 for bodies in seen.values())
    events = [bodies for key, bodies in seen.items() if "info" not in key]
    assert [first == second for first, second in events[1:]] == [True, True]  # the first state is made anew


def test_retry_after_is_waited_for_and_nothing_new_is_needed(
    make_hook, talk, start_courier, receiver, wait_until
):
    make_hook(num_retries=100, retry_delay=0)
    times = []

    def busy(post):
        times.append(post.at)
        return (200, {}) if len(times) > 2 else (429, {"Retry-After": "1"})

    receiver.answer, conversation = busy, talk(2)
    start_courier()
    wait_until(lambda: len(ids(receiver, conversation)) == 2)

    assert times[1] - times[0] >= 1
    assert times[2] - times[1] >= 1


def test_one_conversation_the_receiver_refuses_does_not_hold_up_the_others(
    make_hook, talk, start_courier, receiver, wait_until
):
    make_hook(retry_delay=60)
    refused, others = talk(3), [talk(3) for _ in range(3)]
    receiver.answer = lambda post: (422 if post.about == refused.id.hex else 200, {})
    start_courier()
    wait_until(lambda: all(len(ids(receiver, one)) == 3 for one in others))

    delivery = Delivery.objects.get(conversation=refused)
    assert (delivery.failures, delivery.last_error) == (1, "HTTP 422")


def test_a_receiver_that_is_back_hears_at_once_of_all_conversations(
    make_hook, talk, start_courier, receiver, wait_until
):
    """Not each after its own back-off: one accepted post says that the receiver is there."""
    make_hook(num_retries=0, retry_delay=120)
    talks, back = [talk(2) for _ in range(8)], threading.Event()
    receiver.answer = lambda post: (200 if back.is_set() else 503, {})
    courier = start_courier()
    wait_until(lambda: len(receiver.posts) == len(talks))
    back.set()
    late = talk(1)
    courier.notice(late.id)
    wait_until(lambda: all(len(ids(receiver, one)) == 2 for one in talks), 20)

    assert ids(receiver, late) == expected(1)


def test_a_webhook_hears_what_happens_after_it_was_made(make_hook, talk, make_event, start_courier, receiver):
    from agentserver.webhooks import services

    conversation = talk(4)
    quick = {"base_url": receiver.url, "flush_delay": 0.1}
    hook = services.create(owner=None, fields={**quick, "event_buffer_size": 1})
    say(make_event, conversation, 2)

    place = place_of(hook, conversation)
    assert (place.posted, place.waiting) == (4, 2)


def test_a_users_webhook_hears_of_their_conversations_alone(
    make_hook, talk, start_courier, receiver, django_user_model, wait_until
):
    ann, bob = (django_user_model.objects.create_user(name) for name in ("ann", "bob"))
    make_hook(owner=ann)
    courier = start_courier()
    own, theirs, nobodys = talk(3, owner=ann), talk(3, owner=bob), talk(3)
    for one in (theirs, nobodys, own):
        courier.notice(one.id)
        courier.overhear(one.group, 2)
    wait_until(lambda: len(ids(receiver, own)) == 3)

    assert {post.about for post in receiver.posts} == {own.id.hex}
    assert set(Delivery.objects.values_list("conversation", flat=True)) == {own.id}


def test_a_batch_ends_before_it_becomes_too_large(make_hook, make_conversation, make_event, hook):
    from agentserver.webhooks import parcels

    row, conversation = make_hook(), make_conversation(base_state="{}")
    for size in (10, 400, 2000, 10, 10):
        make_event(conversation, payload=f'"{"x" * size}"')
    seen, limited = [], hook(event_buffer_size=10, max_batch_bytes=500)
    Delivery.objects.create(webhook=row, conversation=conversation, posted=0)
    while (place := place_of(row, conversation)).behind:
        parcel = parcels.following(place, limited)
        seen.append(parcel.body.count('",') + 1)
        assert outbox.claim(place, parcel.through, "me", soon())
        assert outbox.accepted(place, parcel.through, "me")

    assert seen == [2, 1, 2]  # the large one alone


# --- disabled, again, deleted --------------------------------------------------------------------


def test_after_days_of_failures_a_webhook_is_disabled_with_a_reason(make_hook, configure):
    configure(webhook_disable_after_days=5)
    hook = make_hook()
    assert not health.failed(hook.pk, "HTTP 500")
    Webhook.objects.update(failing_since=timezone.now() - datetime.timedelta(days=5.1))

    assert health.failed(hook.pk, "HTTP 502")
    hook.refresh_from_db()
    assert not hook.enabled
    assert "every post since" in hook.disabled_reason
    assert "HTTP 502" in hook.disabled_reason


def test_a_disabled_webhook_gets_nothing_and_once_enabled_everything(
    make_hook, talk, start_courier, receiver, make_event, wait_until
):
    from agentserver.webhooks import services

    hook = make_hook(enabled=False, disabled_reason="broken")
    courier, conversation = start_courier(), talk(3)
    courier.notice(conversation.id)
    say(make_event, conversation, 3)
    wait_until(lambda: courier._reload_at)
    assert receiver.posts == []

    services.change(row=hook, changes={"enabled": True})
    courier.reload()
    wait_until(lambda: len(ids(receiver, conversation)) == 6)

    assert ids(receiver, conversation) == expected(6)
    assert Webhook.objects.get(pk=hook.pk).disabled_reason == ""


def test_everything_again_comes_under_new_keys(make_hook, talk, start_courier, receiver, wait_until):
    from agentserver.webhooks import services

    make_hook()
    courier, conversation = start_courier(), talk(5)
    courier.notice(conversation.id)
    wait_until(lambda: len(ids(receiver, conversation)) == 5)
    assert services.redeliver(deliveries=Delivery.objects.all()) == 1
    courier.reload()
    wait_until(lambda: len(ids(receiver, conversation)) == 10)

    assert ids(receiver, conversation) == expected(5) * 2
    keys = [post.headers["idempotency-key"] for post in receiver.posts]
    assert len(set(keys)) == len(keys)


def test_a_deleted_conversation_stays_until_its_webhooks_have_heard(
    make_hook, talk, start_courier, receiver, wait_until
):
    make_hook(flush_delay=600, event_buffer_size=100)
    conversation = talk(3)
    Conversation.objects.update(status=Status.DELETING)
    outbox.announce(conversation.id)
    assert not removal.remove(conversation.id)
    start_courier()
    wait_until(lambda: not Conversation.objects.exists())

    assert ids(receiver, conversation) == expected(3)
    assert receiver.posts[-1].body["execution_status"] == "deleting"


@pytest.mark.parametrize("hooks", [0, 1])
def test_a_deleted_conversation_that_no_webhook_waits_for_goes_at_once(make_hook, talk, hooks):
    for _ in range(hooks):
        make_hook(enabled=False)
    conversation = talk(3, status=Status.DELETING)

    assert removal.remove(conversation.id)
    assert not Conversation.objects.exists()


def test_a_deleted_conversation_is_not_kept_for_ever(make_hook, talk, configure):
    make_hook()
    conversation = talk(3, status=Status.DELETING)
    removal.remove(conversation.id)
    purge.purge()
    assert Conversation.objects.exists()

    configure(webhook_keep_deleted_seconds=0)
    purge.purge()
    assert not Conversation.objects.exists()


def test_the_backlog_counts_what_waits(make_hook, talk, monkeypatch):
    from agentserver.webhooks import reads

    monkeypatch.setattr(reads, "_counted", None)
    make_hook()
    make_hook(enabled=False)
    talk(4)
    talk(0)

    assert reads.backlog() == {"webhooks": 2, "disabled": 1, "failing": 0, "conversations": 2, "events": 5}
