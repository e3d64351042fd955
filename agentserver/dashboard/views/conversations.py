"""The list of conversations, the page of one, and the rows behind its timeline."""

from django.http import HttpRequest, HttpResponse

from agentserver import api
from agentserver.dashboard import listing, timeline
from agentserver.dashboard.views.base import Page
from conversations import services


class ListPage(Page):
    section = "conversations"

    def get(self, request: HttpRequest) -> HttpResponse:
        query = listing.Query.of(request.GET)
        found = listing.page(principal=request.principal, query=query)
        return self.show("list.html", {"query": query, "found": found})


class ConversationPage(Page):
    section = "conversations"

    def get(self, request: HttpRequest, conversation_id) -> HttpResponse:
        row = services.find(conversation_id=conversation_id, principal=request.principal)
        return self.show("conversation.html", {"shown": listing.described(row)})


class _Rows(Page):
    """JSON about one conversation; ``find`` answers 404 for one that is not theirs."""

    def find(self, conversation_id):
        return services.find(
            conversation_id=conversation_id, principal=self.request.principal, fields=("id",)
        )


class EventsView(_Rows):
    """GET ``?first=SEQUENCE``: the stored events from there on, one chunk of the timeline."""

    def get(self, request: HttpRequest, conversation_id) -> HttpResponse:
        row = self.find(conversation_id)
        first = timeline.sequence_of(request.GET.get("first", "0"))
        return HttpResponse(timeline.chunk(row.id, first), content_type="application/json")


class UsageView(_Rows):
    """GET: tokens and cost after each step."""

    def get(self, request: HttpRequest, conversation_id) -> HttpResponse:
        row = self.find(conversation_id)
        return HttpResponse(api.dumps(timeline.usage(row.id)), content_type="application/json")
