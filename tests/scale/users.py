"""Users of a cluster under attack: each writes to one conversation, reads its socket, and remembers what
it was promised."""

import contextlib
import json
import random
import threading
import time
import uuid

import httpx
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.contract.conftest import plan, user_message
from tests.contract.dialogue import shell

AT_REST = {"idle", "paused", "finished", "error", "stuck"}
EFFECTS = "effects"
"""The file in a workspace that tools write a line to, each its own."""
STOPS_IN = 90
"""Seconds after the storm in which acknowledged interrupts must have ended their runs. In it there may be no
runner for minutes: starting one takes as long as killing the next ten."""


class User:
    """``acknowledged``: markers of messages that the server said it has, in order."""

    def __init__(self, url, llm, directory, number, pace):
        self.url, self.llm, self.number, self.pace = url, llm, number, pace
        self.random = random.Random(number)
        self.id, self.path = str(uuid.uuid4()), ""
        self.path = f"/api/conversations/{self.id}"
        self.directory = directory / str(number)
        self.directory.mkdir()
        (self.directory / EFFECTS).write_text("")
        self.acknowledged, self.tried, self.complaints = [], [], []
        self.interrupted_after = set()
        self.received = {}
        self.created, self.done, self.end_reading = (threading.Event() for _ in range(3))
        self.threads = [threading.Thread(target=one, daemon=True) for one in (self._live, self._read)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def end(self):
        self.done.set()
        self.threads[0].join(STOPS_IN + 60)
        assert not self.threads[0].is_alive(), f"user {self.number} hangs"

    def leave(self):
        self.end_reading.set()
        self.threads[1].join(30)

    # Writing

    def _live(self):
        try:
            with httpx.Client(base_url=self.url, timeout=30) as self.http:
                self._create()
                while not self.done.is_set():
                    self._pass_time(self.random.uniform(2, 10) * self.pace)
                    self._write()
                    if self.random.random() < 0.15:
                        self._interrupt()
        except Exception as error:  # told by the test
            self.complaints.append(f"{type(error).__name__}: {error}")
            raise

    def _pass_time(self, seconds):
        """Until the run is over, or for ``seconds`` at the most: then there is more to say."""
        deadline = time.monotonic() + seconds
        patient = self.random.random() < 0.7
        while not self.done.wait(0.5 * self.pace):
            if time.monotonic() > deadline and not (patient and self.status() not in AT_REST):
                return
            if time.monotonic() > deadline + 60:
                return

    def _ask(self, method, path, **more):
        """The answer; None if there is none, or one that says that something is away."""
        with contextlib.suppress(httpx.HTTPError):
            answer = self.http.request(method, path, **more)
            if answer.status_code < 500 and answer.status_code != 429:
                return answer
        return None

    def status(self):
        answer = self._ask("GET", self.path)
        return answer.json()["execution_status"] if answer else None

    def _create(self):
        marker, text = self._script()
        agent = {
            "kind": "Agent",
            "llm": {
                "usage_id": "chaos",
                "model": "openai/fake",
                "base_url": f"{self.llm}/v1",
                "api_key": "k",
                "num_retries": 0,
            },
            "tools": [{"name": "terminal", "params": {}}, {"name": "file_editor", "params": {}}],
            "include_default_tools": ["FinishTool", "ThinkTool"],
        }
        body = {
            "conversation_id": self.id,
            "agent": agent,
            "workspace": {"working_dir": str(self.directory)},
            "autotitle": False,
            "initial_message": user_message(text, True),
        }
        self.tried.append(marker)
        while True:  # the same id again is the same conversation
            answer = self._ask("POST", "/api/conversations", json=body)
            if answer is not None:
                assert answer.status_code in (200, 201), answer.text
                self.acknowledged.append(marker)
                self.created.set()
                return
            if self.done.wait(1):
                return

    def _write(self):
        marker, text = self._script()
        self.tried.append(marker)
        answer = self._ask("POST", f"{self.path}/events", json=user_message(text, True))
        if answer is not None:
            assert answer.status_code == 200, f"{answer.status_code} {answer.text}"
            self.acknowledged.append(marker)

    def _interrupt(self):
        if self.done.wait(self.random.uniform(0, 3) * self.pace):
            return
        self.interrupted_after.add(self.tried[-1])
        answer = self._ask("POST", f"{self.path}/interrupt")
        if answer is None:
            return
        assert answer.status_code == 200, f"{answer.status_code} {answer.text}"
        deadline = None
        while self.status() not in AT_REST:
            if self.done.wait(0.5) and deadline is None:
                deadline = time.monotonic() + STOPS_IN
            if deadline is not None and time.monotonic() > deadline:
                self.complaints.append(f"an interrupt after {self.tried[-1]} did not end the run")
                return
            self.end_reading.wait(0.05)

    def _script(self):
        marker = f"m{self.number}-{len(self.tried)}-{uuid.uuid4().hex[:8]}"
        steps = [self._step(f"{marker}-{n}") for n in range(self.random.randint(1, 4))]
        return marker, plan(
            *steps, strict=True, marker=f"chaos-{self.id}", final=f"answer {marker}", delay=0.5 * self.pace
        )

    def _step(self, token):
        delay = self.random.uniform(0.2, 2) * self.pace
        path = str(self.directory / EFFECTS)
        if self.number % 5 == 0:  # shells are dear
            return shell(f"echo {token} >> {path}", delay=delay)
        args = {"command": "insert", "path": path, "insert_line": 0, "new_str": token}
        return {"tool": "file_editor", "args": args, "delay": delay}

    # Reading

    def _read(self):
        """Follow the socket, again and again, from the last event that came."""
        address = self.url.replace("http", "ws", 1) + f"/sockets/session/{self.id}"
        self.created.wait(60)
        while not self.end_reading.is_set():
            with (
                contextlib.suppress(OSError, WebSocketException, TimeoutError),
                connect(
                    f"{address}?after_seq={max(self.received, default=-1)}", max_size=None, close_timeout=1
                ) as socket,
            ):
                self._follow(socket)
            self.end_reading.wait(0.5)

    def _follow(self, socket):
        while not self.end_reading.is_set():
            try:
                frame = json.loads(socket.recv(timeout=0.5))
            except TimeoutError:
                continue
            if frame["type"] == "durable":
                number, event = frame["seq"], frame["event"]["id"]
                if self.received.setdefault(number, event) != event:
                    self.complaints.append(f"event {number} was {self.received[number]}, then {event}")
