"""Who may scrape ``/metrics``: operators as everywhere, and whoever brings the scrape token.

The token goes where Prometheus puts it (``Authorization: Bearer``) and opens this one page, so that
the monitoring need not hold a session key, which would let it run commands.
"""

import hmac
from typing import Any

from agentserver import conf
from agentserver.front.answers import header

PATH = "/metrics"


def may_scrape(scope: dict[str, Any]) -> bool:
    """Whether the request is one for the metrics that brings the token."""
    token = conf.current().metrics_token
    if not token or scope["path"] != PATH or scope["method"] not in ("GET", "HEAD"):
        return False
    kind, _, given = (header(scope, b"authorization") or b"").partition(b" ")
    expected = token.encode("utf-8", "surrogateescape")
    return kind.lower() == b"bearer" and hmac.compare_digest(given.strip(), expected)
