"""The dashboard's pages, below ``/dashboard``."""

from django.urls import path

from agentserver.dashboard.views import conversations, operations, shell, starting, tokens

app_name = "dashboard"
ONE = "conversations/<uuid:conversation_id>"

urlpatterns = [
    path("", conversations.ListPage.as_view(), name="list"),
    path("new", starting.NewPage.as_view(), name="new"),
    path(ONE, conversations.ConversationPage.as_view(), name="conversation"),
    path(f"{ONE}/events", conversations.EventsView.as_view(), name="events"),
    path(f"{ONE}/usage", conversations.UsageView.as_view(), name="usage"),
    path("bash", shell.BashPage.as_view(), name="bash"),
    path("bash/commands", shell.CommandsView.as_view(), name="commands"),
    path("bash/prune", shell.PruneView.as_view(), name="prune"),
    path("operations", operations.OperationsPage.as_view(), name="operations"),
    path("operations/numbers", operations.NumbersView.as_view(), name="numbers"),
    path("tokens", tokens.TokensPage.as_view(), name="tokens"),
    path("tokens/<int:token_id>/revoke", tokens.RevokeView.as_view(), name="revoke"),
]
