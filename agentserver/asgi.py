"""The ASGI application: API, pages for people, sockets and lifespan."""

import os

from agentserver import bootstrap

bootstrap.prepare()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentserver.settings")

import django  # noqa: E402

django.setup(set_prefix=False)

from channels.routing import ProtocolTypeRouter  # noqa: E402

from agentserver import lifespan, routing  # noqa: E402
from agentserver.api import ApiHandler  # noqa: E402
from agentserver.front.cors import Cors  # noqa: E402
from agentserver.front.gate import Gate  # noqa: E402
from agentserver.front.pages import PagesHandler  # noqa: E402
from agentserver.front.prefix import Prefix  # noqa: E402
from agentserver.front.web_files import WebFiles  # noqa: E402
from agentserver.observability.requests import Requests  # noqa: E402
from agentserver.places.forwarding import Forwarding  # noqa: E402

PAGES = ("/admin", "/dashboard", "/login", "/logout")
"""Where people's pages live, which have sessions; all else is the API on its lean stack."""

pages = WebFiles(PagesHandler())
api = ApiHandler()


async def http(scope, receive, send) -> None:
    handler = pages if scope["path"].startswith((*PAGES, "/static/")) else api
    await handler(scope, receive, send)


application = ProtocolTypeRouter(
    {
        "http": Requests(Prefix(Cors(Gate(Forwarding(http), PAGES), PAGES))),
        "websocket": Requests(Prefix(routing.sockets)),
        "lifespan": lifespan.application,
    }
)
