"""/api/webhooks: receivers of one's own conversations' events."""

from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver import api
from agentserver.configuration.owners import of_request
from agentserver.errors import invalid
from agentserver.webhooks import reads, services
from agentserver.webhooks.bodies import RedeliverBody, WebhookBody, WebhookChange
from agentserver.webhooks.models import Webhook


class WebhooksView(APIView):
    """GET: all of them. POST: make one."""

    waits = True  # for the agent SDK, which encrypts

    def get(self, request):
        return Response({"items": reads.listed(owner=of_request(request))})

    def post(self, request):
        body = api.parse(request, WebhookBody)
        row = services.create(owner=of_request(request), fields=body.model_dump())
        return Response(reads.view(row), status=201)


class WebhookBase(APIView):
    waits = True

    def row(self, request, webhook_id: str) -> Webhook:
        return services.find(owner=of_request(request), webhook_id=int(webhook_id))


class WebhookView(WebhookBase):
    """GET; PATCH what is named; DELETE."""

    def get(self, request, webhook_id):
        return Response(reads.view(self.row(request, webhook_id)))

    def patch(self, request, webhook_id):
        changes = api.parse(request, WebhookChange).model_dump(exclude_unset=True)
        return Response(reads.view(services.change(row=self.row(request, webhook_id), changes=changes)))

    def delete(self, request, webhook_id):
        services.delete(row=self.row(request, webhook_id))
        return Response({"success": True})


class DeliveriesView(WebhookBase):
    """GET: how far the webhook has heard of each conversation."""

    def get(self, request, webhook_id):
        after = request.query_params.get("page_id") or "0"
        if not (after.isascii() and after.isdigit() and len(after) < 19):
            raise invalid(["query", "page_id"], "Give the next_page_id of the page before.")
        items, following = reads.delivery_page(
            row=self.row(request, webhook_id),
            behind=api.flag(request, "behind"),
            limit=api.limit_of(request),
            after=int(after),
        )
        return Response({"items": items, "next_page_id": following})


class RedeliverView(WebhookBase):
    """POST: everything again from the beginning, of one conversation or of all."""

    def post(self, request, webhook_id):
        body = api.validated(request.data or {}, RedeliverBody)
        row = self.row(request, webhook_id)
        deliveries = services.of_conversation(row=row, conversation_id=body.conversation_id)
        return Response({"conversations": services.redeliver(deliveries=deliveries)})
