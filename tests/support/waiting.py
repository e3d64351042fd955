"""Waiting without sleeping blindly: a poll with a deadline."""

import socket
import time


def wait_until(check, timeout=15.0, interval=0.05, message="condition"):
    """Poll ``check()`` until it returns something truthy; return that. Seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"timed out after {timeout} s waiting for {message}; last value: {value!r}")
        time.sleep(interval)


def free_port():
    """A port nobody listens on at the moment."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]
