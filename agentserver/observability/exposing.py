"""``/metrics`` of a process that has no HTTP of its own: a small server on a thread.

Beyond this machine it asks for the scrape token, so without one it listens on this machine only.
"""

import hmac
import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

from agentserver import conf
from agentserver.observability.access import PATH
from agentserver.observability.metrics import REGISTRY

logger = logging.getLogger(__name__)

EVERYBODY, THIS_MACHINE = "0.0.0.0", "127.0.0.1"  # noqa: S104 (with a token only)


class _Quiet(WSGIRequestHandler):
    timeout = 10  # seconds; a scraper that says nothing keeps no thread

    def log_message(self, format: str, *args: Any) -> None:
        """A line for each scrape says nothing."""


def start(configuration: conf.Configuration) -> WSGIServer | None:
    """Serve on OH_METRICS_PORT from here on, if it is set. Raises ConfigurationError for a port in use."""
    if configuration.metrics_port is None:
        return None
    host = EVERYBODY if configuration.metrics_token else THIS_MACHINE
    try:
        server = make_server(host, configuration.metrics_port, _application, ThreadingWSGIServer, _Quiet)
    except OSError as error:
        raise conf.ConfigurationError(
            f"OH_METRICS_PORT={configuration.metrics_port} cannot be listened on: {error.strerror}."
        ) from None
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    logger.info("Metrics on http://%s:%d%s", host, server.server_port, PATH)
    return server


_shown = make_wsgi_app(REGISTRY)


def _application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    token = conf.current().metrics_token
    if environ["PATH_INFO"] != PATH:
        return _refuse(start_response, "404 Not Found")
    if token and not hmac.compare_digest(
        environ.get("HTTP_AUTHORIZATION", "").encode("latin-1"), f"Bearer {token}".encode()
    ):
        return _refuse(start_response, "401 Unauthorized")
    return _shown(environ, start_response)


def _refuse(start_response: Callable[..., Any], status: str) -> Iterable[bytes]:
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", "0")])
    return [b""]
