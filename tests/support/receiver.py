"""A service that webhooks post to: it keeps what comes, and fails as it is told to."""

import http.server
import json
import sys
import threading
import time
import uuid

from tests.support.waiting import wait_until

PATIENCE = 15.0


class Receiver:
    """Listens on a port of its own. ``posts``: all that came, in order of arrival.

    ``fail_next``: so many posts are answered with 503; ``delay``: seconds before each answer;
    ``answer``: a function of the post that gives status and headers, instead of all that.
    """

    def __init__(self):
        self.posts, self.fail_next, self.delay, self.answer = [], 0, 0, None
        self.overlaps = 0  # posts that came while another to the same address was being answered
        receiver, lock, busy = self, threading.Lock(), set()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                post = Post(self.path, dict(self.headers), raw)
                about = post.about
                with lock:
                    receiver.overlaps += about in busy
                    busy.add(about)
                    post.status, headers = receiver._judge(post)
                    receiver.posts.append(post)
                time.sleep(receiver.delay)
                with lock:
                    busy.discard(about)
                self.send_response(post.status)
                for name, value in {"Content-Length": "2", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def _judge(self, post):
        if self.answer is not None:
            return self.answer(post)
        self.fail_next -= 1
        return (503 if self.fail_next >= 0 else 200), {}

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def infos(self, conversation, status=200):
        """The conversation infos received, in order."""
        return [
            p.body
            for p in list(self.posts)
            if p.status == status and p.path.endswith("/conversations") and p.body["id"] == conversation.id
        ]

    def about(self, conversation, status=200):
        """The posts with events of the conversation, in order."""
        name = f"/events/{uuid.UUID(str(conversation.id)).hex}"
        return [p for p in list(self.posts) if p.status == status and p.path.endswith(name)]

    def batches(self, conversation, status=200):
        """The event batches received, in order."""
        return [p.body for p in self.about(conversation, status)]

    def events(self, conversation):
        return [event for batch in self.batches(conversation) for event in batch]

    def wait_info(self, conversation, **expected):
        def found():
            return next(
                (
                    info
                    for info in reversed(self.infos(conversation))
                    if all(info[k] == v for k, v in expected.items())
                ),
                None,
            )

        return wait_until(found, PATIENCE, message=f"conversation info with {expected}")

    def wait_events(self, conversation, log, timeout=PATIENCE):
        """Wait until every event of ``log`` has been received."""
        wait_until(
            lambda: {e["id"] for e in log} <= {e["id"] for e in self.events(conversation)},
            timeout,
            message="all events at the webhook",
        )
        return self.events(conversation)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that left before its answer is what some tests are about; anything else is shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Post:
    """``about``: the conversation it is about."""

    def __init__(self, path, headers, raw):
        self.path, self.raw, self.body, self.at = path, raw, json.loads(raw), time.monotonic()
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.status = None

    @property
    def about(self):
        if self.path.endswith("/conversations"):
            return uuid.UUID(self.body["id"]).hex
        return self.path.rpartition("/")[2]
