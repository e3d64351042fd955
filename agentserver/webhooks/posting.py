"""One post over HTTP: signed, within its time, and what came of it."""

import asyncio
import datetime
import email.utils
from dataclasses import dataclass

import httpx
import standardwebhooks

from agentserver import conf, outgoing
from agentserver.webhooks.hooks import Hook
from agentserver.webhooks.parcels import Parcel

CONNECT_SECONDS = 10
LARGEST_ANSWER = 64 * 1024
"""Bytes of an answer that are read, so that the connection can be used again; nothing is kept."""
LONGEST_RETRY_AFTER = 3600
"""Seconds; a receiver that asks for more is asked again after an hour."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """``error``: why it was not accepted, for people to read. ``retry_after``: seconds it asked for.
    ``theirs``: the receiver answered that this post is wrong, which says nothing about others."""

    error: str | None = None
    retry_after: float | None = None
    theirs: bool = False

    @property
    def accepted(self) -> bool:
        return self.error is None


class Poster:
    """The HTTP clients of the process's webhooks; used on one event loop."""

    def __init__(self) -> None:
        # The operator's environment says how receivers are reached, proxies included.
        self._open = httpx.AsyncClient(timeout=self._timeout(), limits=_limits())
        self._guarded = httpx.AsyncClient(
            transport=outgoing.PublicOnly(), trust_env=False, timeout=self._timeout()
        )

    def _timeout(self) -> httpx.Timeout:
        seconds = conf.current().webhook_timeout_seconds
        return httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))

    async def post(self, hook: Hook, parcel: Parcel) -> Outcome:
        """Post and tell; never raises. Ends within ``webhook_timeout_seconds``, however slow the answer."""
        seconds = conf.current().webhook_timeout_seconds
        client = self._guarded if hook.guarded else self._open
        try:
            async with asyncio.timeout(seconds):
                return await _send(client, hook, parcel)
        except (TimeoutError, httpx.TimeoutException):
            return Outcome(f"no answer within {seconds:g} s")
        except outgoing.NotPublic:
            return Outcome("a private address, which webhooks may not call here")
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as error:
            return Outcome(f"no connection ({type(error).__name__})")

    async def close(self) -> None:
        await self._open.aclose()
        await self._guarded.aclose()


def _limits() -> httpx.Limits:
    posts = conf.current().webhook_max_posts
    return httpx.Limits(max_connections=None, max_keepalive_connections=posts, keepalive_expiry=30)


async def _send(client: httpx.AsyncClient, hook: Hook, parcel: Parcel) -> Outcome:
    headers = {**hook.headers, **_own_headers(hook, parcel)}
    url, body = hook.base_url + parcel.path, parcel.body.encode("utf-8", "surrogatepass")
    async with client.stream("POST", url, content=body, headers=headers, follow_redirects=False) as response:
        read = 0
        async for part in response.aiter_raw():
            read += len(part)
            if read > LARGEST_ANSWER:
                break
    return _judged(response)


def _own_headers(hook: Hook, parcel: Parcel) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "agentserver-webhooks",
        "Idempotency-Key": parcel.key,
    }
    if hook.secret:
        now = datetime.datetime.now(datetime.UTC)
        headers |= {
            "Webhook-Id": parcel.key,
            "Webhook-Timestamp": str(int(now.timestamp())),
            "Webhook-Signature": signature(hook.secret, parcel.key, now, parcel.body),
        }
    return headers


def signature(secret: str, key: str, now: datetime.datetime, body: str) -> str:
    """By the Standard Webhooks: ``whsec_...`` is base64, any other secret is taken as it is."""
    signer = standardwebhooks.Webhook(secret if secret.startswith("whsec_") else secret.encode())
    return signer.sign(key, now, body)


def _judged(response: httpx.Response) -> Outcome:
    status = response.status_code
    if response.is_success:
        return Outcome()
    theirs = 400 <= status < 500 and status not in (408, 425, 429)
    return Outcome(f"HTTP {status}", retry_after(response.headers.get("Retry-After")), theirs)


def retry_after(text: str | None) -> float | None:
    """The seconds a ``Retry-After`` header asks for, as a number or a date; None if it says nothing."""
    if not text:
        return None
    try:
        seconds = float(text) if text.strip().isdigit() else _until(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER)


def _until(text: str) -> float:
    moment = email.utils.parsedate_to_datetime(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return (moment - datetime.datetime.now(datetime.UTC)).total_seconds()
