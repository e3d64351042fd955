"""WebSockets read in the background, so that a test can act while frames keep coming in."""

import contextlib
import json
import threading
import time

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect


class Feed:
    """One open socket; ``frames`` holds every JSON frame received so far, in order."""

    def __init__(self, url, headers=None, reading=True, **options):
        self._stack = contextlib.ExitStack()
        self.ws = self._stack.enter_context(
            connect(
                url,
                additional_headers=headers or {},
                max_size=None,
                max_queue=None if reading else 1,
                close_timeout=1,
                **options,
            )
        )
        self.frames = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        if reading:
            self._reader.start()

    def _read(self):
        with contextlib.suppress(ConnectionClosed):
            for message in self.ws:
                self.frames.append(json.loads(message))

    def send(self, message):
        self.ws.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def say(self, text):
        """Send a user message; over a socket that also starts a run."""
        self.send({"role": "user", "content": [{"type": "text", "text": text}]})

    def wait(self, check, timeout=20.0, message="a frame"):
        """The first frame, already received or still to come, for which ``check`` is true."""
        deadline = time.monotonic() + timeout
        while True:
            alive = self._reader.is_alive()
            frames = list(self.frames)
            for frame in frames:
                if check(frame):
                    return frame
            got = [label(frame) for frame in frames]
            assert alive, f"closed with {self.ws.close_code} before {message}; got {got}"
            assert time.monotonic() < deadline, f"{message} did not come in {timeout} s; got {got}"
            time.sleep(0.02)

    def wait_closed(self, timeout=5.0):
        """Wait for the server to close the socket; the close code."""
        self._reader.join(timeout)
        assert not self._reader.is_alive(), f"still open after {timeout} s"
        return self.ws.close_code

    def cut(self):
        """Drop the connection without a closing handshake, as a lost network would."""
        with contextlib.suppress(OSError):
            self.ws.socket.shutdown(2)
        self._reader.join(5)

    def abandon(self):
        """End a connection that nobody has been reading from."""
        self.ws.socket.close()
        self._stack.pop_all()

    def close(self):
        self._stack.close()


def label(frame):
    """What a frame is, in a word: for messages of failed assertions."""
    event = frame.get("event") or frame
    name = event.get("kind") or frame.get("type")
    return f"{name}:{event['key']}" if "key" in event else name


def socket_url(base_url, path):
    return base_url.replace("http", "ws", 1) + path


@pytest.fixture
def listen(base_url, auth_headers):
    """Callable that opens a Feed on a path of the server; closed when the test ends."""
    with contextlib.ExitStack() as stack:

        def _listen(path, headers=auth_headers, base=base_url, **options):
            feed = Feed(socket_url(base, path), headers, **options)
            stack.callback(feed.close)
            return feed

        yield _listen


def assert_refused(listen, path, codes=(4001,), **options):
    """The server must turn the socket away, at the handshake or at once after it, without data."""
    try:
        feed = listen(path, **options)
    except InvalidStatus as refused:
        assert refused.response.status_code in (400, 401, 403, 404, 422)
        return
    assert feed.wait_closed() in codes
    assert feed.frames == []


def is_full_state(status=None):
    """A check for the frame with the whole state, with ``status`` if given."""

    def check(frame):
        event = frame.get("event") or frame
        return (
            event.get("kind") == "ConversationStateUpdateEvent"
            and event.get("key") == "full_state"
            and status in (None, event["value"].get("execution_status"))
        )

    return check


def is_kind(kind):
    return lambda frame: (frame.get("event") or frame).get("kind") == kind


def is_type(name):
    return lambda frame: frame.get("type") == name


def without_nulls(value):
    """``value`` with null object members left out: over a socket they may be absent."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
