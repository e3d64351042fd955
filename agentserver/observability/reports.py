"""Errors told to a Sentry-compatible service: what is logged as an error, without secrets and content.

Behind the extra ``sentry`` and the setting SENTRY_DSN. Sent by a thread with a bounded queue, so that
a service that is away costs nothing but its reports.
"""

import logging
from importlib import metadata
from typing import Any

import structlog

from agentserver import conf
from agentserver.observability.masking import masked_deeply

FLUSH_SECONDS = 1.0
"""What handing over the last reports may take at the end of the server."""

_started = False


def start(configuration: conf.Configuration) -> None:
    """Report from here on, if that is configured. Raises ConfigurationError without the package."""
    global _started
    if not configuration.sentry_dsn:
        return
    try:
        import sentry_sdk
        from sentry_sdk.integrations.logging import LoggingIntegration
        from sentry_sdk.utils import BadDsn
    except ImportError:
        raise conf.ConfigurationError(
            "SENTRY_DSN is set, but its package is not installed. "
            "Run: uv sync --extra sentry, or install agentserver[sentry]."
        ) from None
    try:
        sentry_sdk.init(
            dsn=configuration.sentry_dsn,
            release=f"agentserver+openhands-sdk-{metadata.version('openhands-sdk')}",
            before_send=_scrubbed,
            # Those that are on by themselves would send prompts, local variables, bodies and addresses.
            default_integrations=False,
            auto_enabling_integrations=False,
            integrations=[LoggingIntegration(level=None, event_level=logging.ERROR)],
            include_local_variables=False,
            max_breadcrumbs=0,
            shutdown_timeout=FLUSH_SECONDS,
        )
    except BadDsn:
        raise conf.ConfigurationError(
            "SENTRY_DSN cannot be used: give https://key@host/project as the service shows it."
        ) from None
    _started = True


def stop() -> None:
    """Hand over what is left. Worker thread."""
    if _started:
        import sentry_sdk

        sentry_sdk.flush(FLUSH_SECONDS)


def _scrubbed(event: Any, hint: Any) -> Any:
    """The event with the ids of the log as tags, every text masked."""
    event.setdefault("tags", {}).update(structlog.contextvars.get_contextvars())
    return masked_deeply(event)
