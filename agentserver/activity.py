"""When the server was last used, for those who stop idle machines."""

import time

_last = time.monotonic()


def touch() -> None:
    global _last
    _last = time.monotonic()


def idle_seconds() -> float:
    return time.monotonic() - _last
