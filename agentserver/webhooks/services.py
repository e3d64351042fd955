"""The write side of webhooks: made, changed, enabled, deleted, and asked to post again.

Not on the writer thread: the admin calls from inside a transaction of its own, which on SQLite that
thread would wait for.
"""

import json
import uuid
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet

from agentserver import sdk
from agentserver.configuration.sealing import is_mask
from agentserver.errors import Conflict, NotFound, invalid
from agentserver.webhooks import courier, hooks
from agentserver.webhooks.models import Delivery, Webhook

LIMIT = 20
"""Webhooks of one owner."""
_SEALED = ("headers", "secret")


class NoSuchWebhook(NotFound):
    sentence = "There is no webhook with this id."


class TooManyWebhooks(Conflict):
    sentence = f"There are {LIMIT} webhooks, as many as are kept. Delete one first."


def find(*, owner: int | None, webhook_id: int) -> Webhook:
    """A webhook of ``owner``; None is the operator, whose are those of the environment too."""
    row = hooks.rows().filter(owner=owner, id=webhook_id).first()
    if row is None:
        raise NoSuchWebhook()
    return row


def create(*, owner: int | None, fields: dict[str, Any]) -> Webhook:
    """It hears what happens from now on. Raises TooManyWebhooks (409). ``fields`` are those of the wire."""
    values = _stored(fields, {})
    with transaction.atomic():
        if Webhook.objects.filter(owner=owner, key=None).count() >= LIMIT:
            raise TooManyWebhooks()
        row = Webhook.objects.create(owner_id=owner, mark=hooks.newest_event(), **values)
    _tell_the_courier()
    return row


def change(*, row: Webhook, changes: dict[str, Any]) -> Webhook:
    """Set what ``changes`` name. Raises Conflict for one of the environment, which is enabled at most."""
    named = {name: value for name, value in changes.items() if value is not None}
    if not named:
        raise invalid(["body"], "Name at least one field to change.", "missing")
    if row.key is not None and set(named) != {"enabled"}:
        raise Conflict("This webhook is configured in the server's environment. Change it there.")
    values = _stored(named, _headers(row) if "headers" in named else {})
    if values.get("enabled"):
        values |= {"disabled_reason": "", "failing_since": None, "last_error": ""}
    with transaction.atomic():
        Webhook.objects.filter(id=row.pk).update(**values)
        if values.get("enabled"):
            retry(deliveries=Delivery.objects.filter(webhook=row))
    _tell_the_courier()
    row.refresh_from_db()
    return row


def delete(*, row: Webhook) -> None:
    """Raises Conflict for one of the environment."""
    if row.key is not None:
        raise Conflict("This webhook is configured in the server's environment. Take it out there.")
    Webhook.objects.filter(id=row.pk).delete()
    _tell_the_courier()


def redeliver(*, deliveries: QuerySet[Delivery]) -> int:
    """Post everything again from the beginning, under new keys; returns for how many conversations."""

    count = deliveries.update(
        posted=-1,
        through=None,
        wanted=F("wanted") + 1,
        repeated=F("repeated") + 1,
        failures=0,
        next_at=None,
        last_error="",
    )
    _tell_the_courier()
    return count


def retry(*, deliveries: QuerySet[Delivery]) -> int:
    """Try what failed at once; returns for how many conversations."""
    count = deliveries.filter(failures__gt=0).update(failures=0, next_at=None)
    _tell_the_courier()
    return count


def of_conversation(*, row: Webhook, conversation_id: uuid.UUID | None) -> QuerySet[Delivery]:
    """The webhook's deliveries, or the one of a conversation. Raises NotFound if it never heard of it."""
    rows = Delivery.objects.filter(webhook=row)
    if conversation_id is None:
        return rows
    rows = rows.filter(conversation_id=conversation_id)
    if not rows.exists():
        raise NotFound("This webhook has not heard of the conversation.")
    return rows


def _tell_the_courier() -> None:
    transaction.on_commit(courier.reload)


def _stored(fields: dict[str, Any], before: dict[str, str]) -> dict[str, Any]:
    """``fields`` as columns: headers and secret encrypted, masked values as they were ``before``."""
    values = {name: value for name, value in fields.items() if name not in _SEALED}
    if "headers" in fields:
        headers = {n: before.get(n, "") if is_mask(v) else v for n, v in fields["headers"].items()}
        values["headers"] = sdk.encrypt(json.dumps(headers)) if headers else ""
    if "secret" in fields and not is_mask(fields["secret"]):
        values["secret"] = sdk.encrypt(fields["secret"]) if fields["secret"] else ""
    return values


def _headers(row: Webhook) -> dict[str, str]:
    try:
        return hooks.headers_of(row)
    except ValueError:  # encrypted with a key that is gone: what is masked is lost, what is given counts
        return {}
