"""The routes of conversations and their events, below ``/api/``. A trailing slash is accepted."""

from django.urls import path
from rest_framework.viewsets import ViewSet

from conversations.eventviews import EventViewSet
from conversations.views import ConversationViewSet

ONE = "conversations/<str:conversation_id>"


def routes(route: str, view: type[ViewSet], **actions: str) -> list:
    """``route`` with and without a trailing slash; ``actions``: HTTP method to action."""
    answered = view.as_view(dict(actions))
    return [path(route, answered), path(f"{route}/", answered)]


def posts(*actions: str) -> list:
    return [one for action in actions for one in routes(f"{ONE}/{action}", ConversationViewSet, post=action)]


# The names of 1.23.1 for conversations with ACP agents: the same views. Deprecated.
ACP = [
    *routes("acp/conversations", ConversationViewSet, get="batch", post="create"),
    *routes("acp/conversations/search", ConversationViewSet, get="search"),
    *routes("acp/conversations/count", ConversationViewSet, get="count"),
    *routes("acp/conversations/<str:conversation_id>", ConversationViewSet, get="retrieve"),
]

urlpatterns = [
    *routes("conversations", ConversationViewSet, get="batch", post="create"),
    *routes("conversations/search", ConversationViewSet, get="search"),
    *routes("conversations/count", ConversationViewSet, get="count"),
    *routes(ONE, ConversationViewSet, get="retrieve", patch="partial_update", delete="destroy"),
    *routes(f"{ONE}/agent_final_response", ConversationViewSet, get="final_response"),
    *posts("run", "pause", "interrupt", "secrets", "confirmation_policy", "security_analyzer", "switch_llm"),
    *posts("switch_profile", "switch_acp_model", "navigate", "load_plugin", "condense", "ask_agent", "fork"),
    *posts("children", "goal"),
    *routes(f"{ONE}/goal/resume", ConversationViewSet, post="goal_resume"),
    *routes(f"{ONE}/goal/stop", ConversationViewSet, post="goal_stop"),
    *routes(f"{ONE}/runtime", ConversationViewSet, get="runtime"),
    *routes(f"{ONE}/runtime/reprovision", ConversationViewSet, post="runtime"),
    *routes(f"{ONE}/events", EventViewSet, get="batch", post="create"),
    *routes(f"{ONE}/events/search", EventViewSet, get="search"),
    *routes(f"{ONE}/events/count", EventViewSet, get="count"),
    *routes(f"{ONE}/events/stream", EventViewSet, get="stream"),
    *routes(f"{ONE}/events/respond_to_confirmation", EventViewSet, post="respond"),
    *routes(f"{ONE}/events/<str:event_id>", EventViewSet, get="retrieve"),
    *ACP,
]
