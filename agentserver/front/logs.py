"""A log filter: neither session keys nor refused input reach a log, also not inside a traceback."""

import logging
import re

from agentserver import conf

_IN_QUERY = re.compile(r"(session_api_key=)[^&\s\"']+", re.IGNORECASE)
_INPUT = re.compile(r"input_value=.*?(?=, input_type=|\n|$)")
SHORTEST = 6
"""A shorter key would blank ordinary words."""


class HideKeys(logging.Filter):
    """Rewrites a record before it is formatted; never drops one."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if (hidden := _hidden(message)) != message:
            record.msg, record.args = hidden, None
        if record.exc_info and not record.exc_text:
            record.exc_text = _hidden(_FORMATTER.formatException(record.exc_info))
        return True


_FORMATTER = logging.Formatter()


def _hidden(text: str) -> str:
    text = _INPUT.sub("input_value=***", _IN_QUERY.sub(r"\1***", text))
    for key in conf.current().session_api_keys:
        if len(key) >= SHORTEST:
            text = text.replace(key, "***")
    return text
