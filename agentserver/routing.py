"""Which consumer answers which socket path; an unknown path is refused at the handshake."""

from channels.routing import URLRouter
from django.urls import re_path

UUID = r"(?P<conversation_id>[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12})"


def _routes() -> list:
    from bashevents.consumers import BashEventConsumer
    from conversations.consumers import EventConsumer, SessionConsumer

    return [
        re_path(rf"^sockets/events/{UUID}/?$", EventConsumer.as_asgi()),
        re_path(rf"^sockets/session/{UUID}/?$", SessionConsumer.as_asgi()),
        re_path(r"^sockets/bash-events/?$", BashEventConsumer.as_asgi()),
    ]


_router = URLRouter(_routes())


async def sockets(scope, receive, send) -> None:
    try:
        await _router(scope, receive, send)
    except ValueError as error:  # URLRouter found no route
        if "No route found" not in str(error):
            raise
        await receive()
        await send({"type": "websocket.close", "code": 4004})
