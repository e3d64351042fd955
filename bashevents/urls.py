"""The same paths twice: for the server's own shell and for that of each conversation."""

from django.urls import re_path

from bashevents.views import BashViewSet

PREFIXES = (r"^bash/", r"^conversations/(?P<conversation_id>[^/]+)/bash/")

ROUTES = (
    (r"start_bash_command/?$", {"post": "start"}),
    (r"execute_bash_command/?$", {"post": "execute"}),
    (r"bash_commands/(?P<command_id>[^/]+)/stop/?$", {"post": "stop"}),
    (r"bash_events/search/?$", {"get": "search"}),
    (r"bash_events/?$", {"get": "batch", "delete": "clear"}),
    (r"bash_events/(?P<event_id>[^/]+)/?$", {"get": "retrieve"}),
)

urlpatterns = [
    re_path(prefix + route, BashViewSet.as_view(methods)) for prefix in PREFIXES for route, methods in ROUTES
]
