"""One post: where it may go, what it carries, and what its answer means."""

import pytest
import standardwebhooks

from agentserver.webhooks.parcels import Parcel
from agentserver.webhooks.posting import Poster

PARCEL = Parcel(path="/events/abc", key="abc-0-4", body='[{"id": "é"}]', through=4)


@pytest.fixture
def post(hook, receiver):
    """Callable: post to the receiver as a webhook with these fields; the outcome."""

    async def _post(**fields):
        poster = Poster()
        try:
            return await poster.post(hook(**{"base_url": receiver.url, **fields}), PARCEL)
        finally:
            await poster.close()

    return _post


async def test_a_post_carries_the_webhooks_headers_and_its_key(post, receiver):
    assert (await post(headers={"X-Mine": "yes"})).accepted
    headers = receiver.posts[0].headers

    assert (headers["x-mine"], headers["idempotency-key"]) == ("yes", "abc-0-4")
    assert headers["content-type"] == "application/json"
    assert "webhook-signature" not in headers


@pytest.mark.parametrize("secret", ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "any text at all"])
async def test_a_signature_is_what_receivers_of_the_standard_expect(post, receiver, secret):
    await post(secret=secret)
    sent = receiver.posts[0]
    known = secret if secret.startswith("whsec_") else secret.encode()

    assert standardwebhooks.Webhook(known).verify(sent.raw, sent.headers) == [{"id": "é"}]
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(known).verify(sent.raw + b" ", sent.headers)


async def test_a_private_address_is_not_called_for_a_guarded_webhook(post, receiver):
    for host in ("127.0.0.1", "localhost"):
        outcome = await post(guarded=True, base_url=receiver.url.replace("127.0.0.1", host))
        assert outcome.error == "a private address, which webhooks may not call here"
    assert receiver.posts == []


async def test_a_redirect_is_a_failure_and_is_not_followed(post, receiver):
    receiver.answer = lambda post: (307, {"Location": "/elsewhere"})
    outcome = await post()

    assert outcome.error == "HTTP 307"
    assert [p.path for p in receiver.posts] == ["/events/abc"]


@pytest.mark.parametrize(
    ("status", "theirs"), [(400, True), (413, True), (401, True), (408, False), (429, False), (500, False)]
)
async def test_an_answer_says_whether_the_post_or_the_receiver_is_in_trouble(post, receiver, status, theirs):
    receiver.answer = lambda post: (status, {"Retry-After": "2"})
    outcome = await post()
    assert (outcome.error, outcome.theirs, outcome.retry_after) == (f"HTTP {status}", theirs, 2)


async def test_a_receiver_that_takes_too_long_is_given_up(post, receiver, configure):
    configure(webhook_timeout_seconds=0.3)
    receiver.delay = 1
    assert (await post()).error == "no answer within 0.3 s"


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "http://nowhere.invalid", "http://[::1]:9"])
async def test_a_receiver_that_is_not_there_is_a_failure_and_no_exception(post, address):
    assert (await post(base_url=address)).error.startswith("no connection")


async def test_a_header_that_cannot_be_sent_is_a_failure_and_is_not_repeated_to_people(post):
    outcome = await post(headers={"X-Key": "secret\r\nvalue"})
    assert outcome.error.startswith("no connection")
    assert "secret" not in outcome.error
