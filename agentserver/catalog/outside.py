"""Work that leaves this machine: off the request's thread, with an answer in bounded time."""

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agentserver.errors import GatewayTimeout


class TooSlow(GatewayTimeout):
    sentence = "What lies outside this server did not answer in time. Try again later."


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(4, thread_name_prefix="outside")


def within[T](seconds: float, function: Callable[..., T], *args: Any) -> T:
    """``function(*args)``, waited for that long; it may go on (and fill a cache). Raises TooSlow (504).

    Four run at once, others wait their turn within their time.
    """
    future = _pool().submit(function, *args)
    try:
        return future.result(seconds)
    except TimeoutError:
        if future.done():
            raise
        future.cancel()
        raise TooSlow() from None
