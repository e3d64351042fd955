"""The bounded thread pools that synchronous code runs on, and the way there from a loop.

Threads live as long as the process, and so do their database connections (``CONN_MAX_AGE`` none):
a fresh thread and connection per request, as ASGI in Django has it, costs more than the request.
"""

import asyncio
import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from django.db import close_old_connections

from agentserver import conf
from agentserver.observability import metrics


class Pool(ThreadPoolExecutor):
    """Counts what works and what waits, and lets a call keep the context (ids for the log) it was made in."""

    def __init__(self, threads: int, name: str) -> None:
        super().__init__(threads, thread_name_prefix=name)
        self._busy, self._waiting = metrics.POOL_BUSY.labels(name), metrics.POOL_WAITING.labels(name)
        metrics.POOL_THREADS.labels(name).set(threads)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self._waiting.inc()
        try:
            future = super().submit(contextvars.copy_context().run, self._work, function, args, kwargs)
        except BaseException:
            self._waiting.dec()
            raise
        future.add_done_callback(self._left)
        return future

    def _work(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self._waiting.dec()
        self._busy.inc()
        try:
            return with_connections(function, *args, **kwargs)
        finally:
            self._busy.dec()

    def _left(self, future: Future[Any]) -> None:
        if future.cancelled():  # before a thread took it
            self._waiting.dec()


@functools.cache
def requests() -> Pool:
    """Answers requests that are done within milliseconds."""
    return Pool(conf.current().request_threads, "request")


@functools.cache
def waiting() -> Pool:
    """Answers requests that wait for something: a command, a model, a run to stop."""
    return Pool(conf.current().slow_request_threads, "waiting")


@functools.cache
def reading() -> Pool:
    """Reads rows for sockets, so that many of them never delay a request."""
    return Pool(4, "reading")


@functools.cache
def delivering() -> Pool:
    """Reads rows for webhooks, so that a backlog of theirs delays neither requests nor sockets."""
    return Pool(2, "delivering")


@functools.cache
def files() -> Pool:
    """Makes one part of a download at a time, so that a slow reader holds no thread."""
    return Pool(4, "files")


async def run_in[T](pool: Pool, function: Callable[..., T], *args: Any) -> T:
    """``function(*args)`` on a thread of ``pool``; a cancelled wait does not stop the thread."""
    return await asyncio.get_running_loop().run_in_executor(pool, function, *args)


def with_connections[**P, T](function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """``function(*args)`` on a thread that lives long: what a lost database broke is not used again."""
    try:
        return function(*args, **kwargs)
    finally:
        # Only closes what broke or has passed its age: the others stay, and are tried before their next use.
        close_old_connections()


def shutdown() -> None:
    """End the pools; what runs is not waited for."""
    for pool in (requests, waiting, reading, delivering, files):
        if pool.cache_info().currsize:
            pool().shutdown(wait=False, cancel_futures=True)
            pool.cache_clear()
