"""A log filter: session keys never reach a log, also not as part of a socket's address."""

import logging
import re

from agentserver import conf

_IN_QUERY = re.compile(r"(session_api_key=)[^&\s\"']+", re.IGNORECASE)
SHORTEST = 6
"""A shorter key would blank ordinary words."""


class HideKeys(logging.Filter):
    """Rewrites a record before it is formatted; never drops one."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        hidden = _IN_QUERY.sub(r"\1***", message)
        for key in conf.current().session_api_keys:
            if len(key) >= SHORTEST and key in hidden:
                hidden = hidden.replace(key, "***")
        if hidden != message:
            record.msg, record.args = hidden, None
        return True
