"""HTTP in for the events of a conversation: send, search, count, get, stream."""

import orjson
from django.http import StreamingHttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from agentserver import api, sdk
from agentserver.api import Raw
from agentserver.errors import invalid
from conversations import eventstream, reads, services
from conversations.views import SUCCESS, ConversationBase


def _whole(text: str) -> int:
    try:
        return max(-1, int(text))
    except ValueError:
        raise invalid(["header", "Last-Event-ID"], "Input should be a whole number", "int_parsing") from None


class EventViewSet(ConversationBase):
    """The events of a conversation: send a message, search, count, get."""

    waits = frozenset({"create", "respond"})

    def create(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id", "status")
        sdk.require()
        from openhands.sdk.conversation.request import SendMessageRequest

        body = api.parse(request, SendMessageRequest)
        if body.role != "user":
            raise invalid(["body", "role"], "Only messages of the user are accepted", "literal_error")
        services.send(row=row, message=body.create_message(), run=body.run)
        return Response(SUCCESS)

    def respond(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id", "status")
        sdk.require()
        from conversations.requests import Confirmation

        body = api.parse(request, Confirmation)
        services.respond(row=row, accept=body.accept, reason=body.reason)
        return Response(SUCCESS)

    def search(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id")
        limit = api.limit_of(request)
        order = api.choice(request, "sort_order", {"TIMESTAMP", "TIMESTAMP_DESC"}, "TIMESTAMP")
        payloads, following = reads.event_page(
            conversation_id=row.id,
            wanted=self._filter(request),
            descending=order == "TIMESTAMP_DESC",
            limit=limit,
            page_id=request.query_params.get("page_id"),
        )
        return Response(
            Raw(f'{{"items":[{",".join(payloads)}],"next_page_id":{orjson.dumps(following).decode()}}}')
        )

    def count(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id", "next_sequence")
        return Response(reads.event_count(row=row, wanted=self._filter(request)))

    def batch(self, request: Request, conversation_id: str) -> Response:
        row = self.row(request, conversation_id, "id")
        ids = request.query_params.getlist("event_ids") or request.data
        if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
            raise invalid(["body"], "Input should be a list of event ids", "list_type")
        if len(ids) > 100:
            raise invalid(["body"], "At most 100 ids", "too_long")
        payloads = reads.event_payloads(conversation_id=row.id, event_ids=ids)
        return Response(Raw("[" + ",".join(payload or "null" for payload in payloads) + "]"))

    def stream(self, request: Request, conversation_id: str) -> StreamingHttpResponse:
        row = self.row(request, conversation_id, "id", "next_sequence")
        given = request.headers.get("Last-Event-ID") or request.query_params.get("after_seq")
        sent = row.next_sequence - 1 if given is None else _whole(given)
        response = StreamingHttpResponse(eventstream.stream(row.id, sent), content_type="text/event-stream")
        response["Cache-Control"] = "no-cache"
        response["X-Accel-Buffering"] = "no"
        return response

    def retrieve(self, request: Request, conversation_id: str, event_id: str) -> Response:
        row = self.row(request, conversation_id, "id")
        (payload,) = reads.event_payloads(conversation_id=row.id, event_ids=[event_id])
        if payload is None:
            return Response({"detail": "Not Found", "code": "not_found"}, status=404)
        return Response(Raw(payload))

    def _filter(self, request: Request) -> reads.EventFilter:
        query = request.query_params
        times = {
            field: reads.stored_time(query[name], name)
            for field, name in (("since", "timestamp__gte"), ("before", "timestamp__lt"))
            if name in query
        }
        return reads.EventFilter(
            kind=query.get("kind"), source=query.get("source"), body=query.get("body"), **times
        )
