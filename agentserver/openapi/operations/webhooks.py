"""Webhooks."""

from agentserver.openapi.operation import operation as op

_ALL = "/api/webhooks"
_ONE = "/api/webhooks/{webhook_id}"
_BODIES = "agentserver.webhooks.bodies"
_OBJECT = {"type": "object"}

OPERATIONS = (
    op("GET", _ALL, answer=_OBJECT),
    op("POST", _ALL, body=f"{_BODIES}:WebhookBody", answer=_OBJECT, ok=201, errors=(409,)),
    op("GET", _ONE, answer=_OBJECT, errors=(404,)),
    op("PATCH", _ONE, body=f"{_BODIES}:WebhookChange", answer=_OBJECT, errors=(404, 409)),
    op("DELETE", _ONE, answer=_OBJECT, errors=(404, 409)),
    op(
        "GET",
        f"{_ONE}/deliveries",
        answer=_OBJECT,
        query="behind:bool limit:int page_id",
        errors=(404,),
    ),
    op("POST", f"{_ONE}/redeliver", body=f"{_BODIES}:RedeliverBody", answer=_OBJECT, errors=(404,)),
)
