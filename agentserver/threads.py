"""The bounded thread pools that synchronous code runs on, and the way there from a loop.

Threads live as long as the process, and so do their database connections (``CONN_MAX_AGE`` none):
a fresh thread and connection per request, as ASGI in Django has it, costs more than the request.
"""

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import close_old_connections

from agentserver import conf


@functools.cache
def requests() -> ThreadPoolExecutor:
    """Answers requests that are done within milliseconds."""
    return ThreadPoolExecutor(conf.current().request_threads, thread_name_prefix="request")


@functools.cache
def waiting() -> ThreadPoolExecutor:
    """Answers requests that wait for something: a command, a model, a run to stop."""
    return ThreadPoolExecutor(conf.current().slow_request_threads, thread_name_prefix="waiting")


@functools.cache
def reading() -> ThreadPoolExecutor:
    """Reads rows for sockets, so that many of them never delay a request."""
    return ThreadPoolExecutor(4, thread_name_prefix="reading")


@functools.cache
def files() -> ThreadPoolExecutor:
    """Makes one part of a download at a time, so that a slow reader holds no thread."""
    return ThreadPoolExecutor(4, thread_name_prefix="files")


async def run_in[T](pool: ThreadPoolExecutor, function: Callable[..., T], *args: Any) -> T:
    """``function(*args)`` on a thread of ``pool``; a cancelled wait does not stop the thread."""
    return await asyncio.get_running_loop().run_in_executor(pool, _with_connections, function, args)


def _with_connections[T](function: Callable[..., T], args: tuple[Any, ...]) -> T:
    try:
        return function(*args)
    finally:
        # Only closes what broke or has passed its age: the others stay for the next call.
        close_old_connections()


def shutdown() -> None:
    """End the pools; what runs is not waited for."""
    for pool in (requests, waiting, reading, files):
        if pool.cache_info().currsize:
            pool().shutdown(wait=False, cancel_futures=True)
            pool.cache_clear()
