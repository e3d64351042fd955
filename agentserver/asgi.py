"""The ASGI application: API, pages for people, sockets and lifespan."""

import os

from agentserver import bootstrap

bootstrap.prepare()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentserver.settings")

import django  # noqa: E402

django.setup(set_prefix=False)

from channels.routing import ProtocolTypeRouter  # noqa: E402
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler  # noqa: E402
from django.core.handlers.asgi import ASGIHandler  # noqa: E402

from agentserver import lifespan, routing  # noqa: E402
from agentserver.api import ApiHandler  # noqa: E402

PAGES = ("/admin", "/static/")
"""Where people's pages live; all else is the API on its lean stack."""

pages = ASGIStaticFilesHandler(ASGIHandler())
api = ApiHandler()


async def http(scope, receive, send) -> None:
    handler = pages if scope["path"].startswith(PAGES) else api
    await handler(scope, receive, send)


application = ProtocolTypeRouter(
    {"http": http, "websocket": routing.sockets, "lifespan": lifespan.application}
)
