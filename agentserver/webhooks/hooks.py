"""What a webhook is to the one who posts: the environment's and the database's in one form."""

import hashlib
import json
import logging
from collections.abc import Collection
from dataclasses import dataclass, field

import httpx
from django.db.models import Max, Q, QuerySet

from agentserver import conf, sdk
from agentserver.webhooks.models import Webhook
from conversations.models import Event

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hook:
    """A receiver, ready to be posted to. Times are seconds. ``guarded``: public addresses only."""

    id: int
    owner_id: int | None
    base_url: str
    headers: dict[str, str] = field(repr=False)
    secret: str | None = field(repr=False)
    guarded: bool
    failing: bool
    event_buffer_size: int
    flush_delay: float
    num_retries: int
    retry_delay: float
    max_batch_bytes: int


def key_of(spec: conf.WebhookSpec) -> str:
    """What tells a receiver of the environment from others: its address, which may hold a secret."""
    return hashlib.sha256(spec.base_url.rstrip("/").encode()).hexdigest()


def configured() -> dict[str, conf.WebhookSpec]:
    """The receivers of the environment by key; of two with one address the first counts."""
    found: dict[str, conf.WebhookSpec] = {}
    for spec in conf.current().webhooks:
        found.setdefault(key_of(spec), spec)
    return found


def rows() -> QuerySet[Webhook]:
    """The rows of all webhooks there are: made here, or in the environment of today."""
    return Webhook.objects.filter(Q(key=None) | Q(key__in=configured()))


def hearing(owner_id: int | None) -> list[Webhook]:
    """The webhooks that hear of a conversation of ``owner_id``, disabled ones too."""
    concerned = Q(owner=None) if owner_id is None else Q(owner=None) | Q(owner_id=owner_id)
    found = list(rows().filter(concerned).only("id", "key", "mark"))
    if register({row.key for row in found}):
        found = list(rows().filter(concerned).only("id", "key", "mark"))
    return found


def register(known: Collection[str | None] = ()) -> bool:
    """Give every receiver of the environment its row, from which on it hears everything; whether any
    was without. Its address is kept without what may be secret in it, its headers not at all.
    """
    new = {key: spec for key, spec in configured().items() if key not in known}
    if not new:
        return False
    mark = newest_event()
    made = [Webhook(key=key, base_url=shown(spec.base_url), mark=mark) for key, spec in new.items()]
    Webhook.objects.bulk_create(made, ignore_conflicts=True)  # there already, or another process was first
    return True


def newest_event() -> int:
    """The id of the newest event of all, 0 before there is one."""
    return Event.objects.aggregate(newest=Max("id"))["newest"] or 0


def shown(base_url: str) -> str:
    """An address without userinfo and query."""
    url = httpx.URL(base_url)
    return str(url.copy_with(userinfo=b"", query=None)).rstrip("/")


def enabled() -> list[Hook]:
    """Every webhook that is to be posted to. Decrypts: not on an event loop."""
    specs, allowed = configured(), conf.current().webhook_allow_private_addresses
    found = []
    for row in rows().filter(enabled=True):
        try:
            hook = _of_row(row, guarded=not allowed) if row.key is None else _of_spec(row, specs[row.key])
        except Exception as error:
            logger.warning("Webhook %s cannot be used: %s", row.id, type(error).__name__)
        else:
            found.append(hook)
    return found


def _of_spec(row: Webhook, spec: conf.WebhookSpec) -> Hook:
    keys = conf.current().session_api_keys
    headers = {"X-Session-API-Key": keys[0]} if keys else {}
    return Hook(
        id=row.id,
        owner_id=None,
        base_url=spec.base_url.rstrip("/"),
        headers=headers | spec.headers,
        secret=spec.secret,
        guarded=False,
        failing=row.failing_since is not None,
        event_buffer_size=spec.event_buffer_size,
        flush_delay=spec.flush_delay,
        num_retries=spec.num_retries,
        retry_delay=spec.retry_delay,
        max_batch_bytes=spec.max_batch_bytes,
    )


def _of_row(row: Webhook, guarded: bool) -> Hook:
    """The session key is the operator's: it is not sent to receivers that others choose."""
    return Hook(
        id=row.id,
        owner_id=row.owner_id,
        base_url=row.base_url.rstrip("/"),
        headers=headers_of(row),
        secret=secret_of(row),
        guarded=guarded,
        failing=row.failing_since is not None,
        event_buffer_size=row.event_buffer_size,
        flush_delay=row.flush_delay,
        num_retries=row.num_retries,
        retry_delay=row.retry_delay,
        max_batch_bytes=conf.WebhookSpec.model_fields["max_batch_bytes"].default,
    )


def headers_of(row: Webhook) -> dict[str, str]:
    """The headers of a webhook made here, in plain. Raises ValueError if no key of ours opens them."""
    return json.loads(_opened(row.headers) or "{}")


def secret_of(row: Webhook) -> str | None:
    """The same for what signs its posts."""
    return _opened(row.secret) or None


def _opened(token: str) -> str:
    if not token:
        return ""
    plain = sdk.decrypt(token)
    if plain is None:
        raise ValueError("It was encrypted with another OH_SECRET_KEY.")
    return plain
