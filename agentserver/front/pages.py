"""Pages for people: the API's pooled threads with Django's own middleware, which they need."""

from django.core.handlers.base import BaseHandler

from agentserver.api import ApiHandler


class PagesHandler(ApiHandler):
    """Serves views on ``MIDDLEWARE``: sessions, messages, CSRF, Content-Security-Policy."""

    def load_middleware(self, is_async: bool = False) -> None:
        BaseHandler.load_middleware(self, is_async=False)
