"""The log: lines for people or objects for machines, with the ids of request and conversation.

Everything goes through one handler of the root logger, also what the agent SDK and its libraries
say, and every text is masked as the last thing before it is written.
"""

import logging
import sys
import uuid
from typing import Any

import structlog

from agentserver import conf
from agentserver.observability.masking import masked_deeply

EXTRA = {"milliseconds", "status", "conversation_id", "webhook"}
"""What a record may carry beside its text; libraries put objects of their own there."""


def configuration(settings: conf.Configuration) -> dict[str, Any]:
    """What Django's LOGGING is to be."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"chosen": {"()": formatter, "form": settings.log_format}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "chosen"}},
        "root": {"handlers": ["console"], "level": settings.log_level},
        "loggers": {name: {"level": level} for name, level in _levels(settings).items()},
    }


def _levels(settings: conf.Configuration) -> dict[str, str]:
    return {
        # A 404 is not the server's warning.
        "django.request": "ERROR",
        # At DEBUG, websockets writes every frame and the handshake's headers into it.
        "uvicorn.error": "INFO" if settings.log_level == "DEBUG" else settings.log_level,
        "httpx": "WARNING",
        "LiteLLM": "WARNING",
        "procrastinate": "WARNING",
        "openhands": "WARNING",
        **settings.log_levels,
    }


def formatter(form: str) -> logging.Formatter:
    """A formatter of the standard library: ``text`` or ``json``."""
    last: Any = structlog.processors.JSONRenderer(default=str, ensure_ascii=False)
    if form == "text":
        last = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            pad_event_to=0,
            pad_level=False,
            exception_formatter=structlog.dev.plain_traceback,
        )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.ExtraAdder(EXTRA),
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            _mask,
            last,
        ],
    )


def _mask(logger: Any, method: str, event: Any) -> Any:
    return masked_deeply(event)


def bind(**ids: str | uuid.UUID) -> None:
    """Add ids to every line that is logged from here on in this task or thread, and what it starts."""
    structlog.contextvars.bind_contextvars(**{name: str(value) for name, value in ids.items()})


def reclaim() -> None:
    """Undo what libraries did to loggers while they were imported: all goes through our handler."""
    logging.captureWarnings(True)
    for name, logger in list(logging.root.manager.loggerDict.items()):
        # The server keeps its own access log quiet by the same means.
        if isinstance(logger, logging.Logger) and not name.startswith("uvicorn"):
            logger.handlers.clear()
            logger.propagate = True
