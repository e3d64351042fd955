"""A load test: running conversations, sockets and requests at once, for long, without an error.

    make bench ARGS="-k load"    200 conversations, 1,000 sockets, 200 requests/s, 10 minutes
    LOAD_SECONDS=60 LOAD_CONVERSATIONS=20 make bench ARGS="-k load"

Each of the conversations asks its model, thinks, asks again; when it has finished, each of its sockets
must have brought every event once and in order, and the next conversation takes its place. So as many
run at any time, and memory is flat unless something leaks.
"""

import asyncio
import contextlib
import json
import os
import random
import statistics
import time

import aiohttp
import psutil
import pytest

from tests.benchmarks.kept import FILE
from tests.support.server import OwnServer

SECONDS = float(os.environ.get("LOAD_SECONDS", "600"))
CONVERSATIONS = int(os.environ.get("LOAD_CONVERSATIONS", "200"))
SOCKETS = 5
"""For each conversation."""
RATE = float(os.environ.get("LOAD_RATE", "200"))
"""Requests a second, sent when they are due, whether or not earlier ones have been answered."""
STEPS, THINKING = 8, 20.0
"""Steps of a conversation, and seconds that its model takes for each."""


class Load:
    """What is done to the server, and what came of it."""

    def __init__(self, http, llm_url, folder):
        self.http, self.llm_url, self.folder = http, llm_url, folder
        self.errors, self.times, self.frames, self.ended = [], [], 0, 0
        self.running, self.open_sockets = {}, 0
        self.until = time.monotonic() + SECONDS

    @property
    def on(self):
        return time.monotonic() < self.until

    async def call(self, method, path, **body):
        async with self.http.request(method, path, **body) as response:
            text = await response.read()
            if response.status >= 400:
                raise RuntimeError(f"{method} {path}: {response.status} {text[:200]!r}")
            return json.loads(text)

    async def person(self, number):
        """Has one conversation after the other; the first ones begin spread over a conversation's time."""
        await asyncio.sleep(STEPS * THINKING * number / CONVERSATIONS * 0.5)
        while self.on:
            try:
                await self.conversation()
            except Exception as error:
                self.errors.append(repr(error))
                await asyncio.sleep(1)

    async def conversation(self):
        thoughts = [{"tool": "think", "args": {"thought": f"thought {n} " * 20}} for n in range(STEPS)]
        plan = "PLAN " + json.dumps({"steps": thoughts, "delay": THINKING})
        llm = {"usage_id": "load", "model": "openai/fake", "base_url": f"{self.llm_url}/v1", "api_key": "k"}
        created = await self.call("POST", "/api/conversations", json={
            "agent": {"kind": "Agent", "llm": llm, "include_default_tools": ["FinishTool", "ThinkTool"]},
            "workspace": {"kind": "LocalWorkspace", "working_dir": str(self.folder)},
            "initial_message": {"role": "user", "content": [{"type": "text", "text": plan}], "run": True},
            "stuck_detection": False, "autotitle": False,
        })  # fmt: skip
        conversation = created["id"]
        self.running[conversation] = True
        try:
            seen = await asyncio.gather(*(self.follow(conversation) for _ in range(SOCKETS)))
            if self.on:
                await self.compare(conversation, seen)
        finally:
            del self.running[conversation]
        await self.call("DELETE", f"/api/conversations/{conversation}")

    async def follow(self, conversation):
        """The ids of the stored events that a socket brings until the conversation has finished."""
        seen = []
        async with self.http.ws_connect(
            f"/sockets/events/{conversation}?resend_mode=all", max_msg_size=0
        ) as socket:
            self.open_sockets += 1
            try:
                async with asyncio.timeout(max(1, self.until - time.monotonic())):
                    async for message in socket:
                        self.frames += 1
                        frame = json.loads(message.data)
                        if frame["kind"] != "ConversationStateUpdateEvent":
                            seen.append(frame["id"])
                        elif (
                            frame.get("key") == "full_state"
                            and frame["value"]["execution_status"] == "finished"
                        ):
                            return seen
                raise RuntimeError("the socket was closed")
            except TimeoutError:
                return seen
            finally:
                self.open_sockets -= 1

    async def compare(self, conversation, seen):
        page = await self.call("GET", f"/api/conversations/{conversation}/events/search?limit=100")
        stored = [e["id"] for e in page["items"] if e["kind"] != "ConversationStateUpdateEvent"]
        for ids in seen:
            if ids != stored:
                self.errors.append(f"{conversation}: a socket brought {len(ids)} events of {len(stored)}")
        self.ended += 1

    async def requests(self):
        """``RATE`` requests a second of the kinds that clients send most."""
        begun, number, pending = time.monotonic(), 0, set()
        while self.on:
            number += 1
            await asyncio.sleep(max(0, begun + number / RATE - time.monotonic()))
            task = asyncio.create_task(self.request())
            pending.add(task)
            task.add_done_callback(pending.discard)
        await asyncio.gather(*pending)

    async def request(self):
        one = random.choice([*self.running] or [None])
        paths = ["/api/conversations/search?limit=20", "/api/conversations/count", "/alive"]
        if one is not None:
            base = f"/api/conversations/{one}"
            newest = f"{base}/events/search?limit=20&sort_order=TIMESTAMP_DESC"
            paths += [base, base, newest, newest, f"{base}/events/count"]
        begun = time.perf_counter()
        try:
            await self.call("GET", random.choice(paths))
        except Exception as error:
            # A conversation may end and be deleted between the choice and the answer.
            if not (one is not None and one not in self.running and "404" in str(error)):
                self.errors.append(repr(error))
        self.times.append(time.perf_counter() - begun)


async def watch(load, process):
    """Each five seconds: (seconds, MiB, conversations, sockets, CPU seconds)."""
    begun, rows = time.monotonic(), []
    while load.on:
        await asyncio.sleep(5)
        cpu = process.cpu_times()
        rows.append((
            round(time.monotonic() - begun), process.memory_info().rss >> 20,
            len(load.running), load.open_sockets, round(cpu.user + cpu.system, 1),
        ))  # fmt: skip
    return rows


async def carry(server, llm_url, folder):
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=30)
    async with aiohttp.ClientSession(server.url, connector=connector, timeout=timeout) as http:
        load = Load(http, llm_url, folder)
        process = psutil.Process(server.process.pid)
        people = [asyncio.create_task(load.person(number)) for number in range(CONVERSATIONS)]
        rows, _ = await asyncio.gather(watch(load, process), load.requests())
        for person in people:
            person.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*people, return_exceptions=True)
        return load, rows


@pytest.fixture
def server(tmp_path):
    server = OwnServer(tmp_path, OH_SECRET_KEY="bench", OH_MAX_CONCURRENT_RUNS=str(CONVERSATIONS + 10))
    yield server.start().wait_ready()
    server.stop()


def shown(values, share):
    ordered = sorted(values)
    return f"{1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]:.1f} ms"


@pytest.mark.timeout(SECONDS + 300)
def test_load(server, llm_url, tmp_path, table):
    load, rows = asyncio.run(carry(server, llm_url, tmp_path))
    (FILE.parent / "load.json").write_text(json.dumps(rows) + "\n")
    full = [row for row in rows if row[2] >= CONVERSATIONS * 0.95] or rows
    early, late = full[: len(full) // 3] or full, full[-(len(full) // 3) :] or full
    table("load: time under full load", f"{full[-1][0] - full[0][0]} s", f"{SECONDS - 100:.0f} s")
    table(
        "load: conversations running, median", f"{statistics.median(r[2] for r in full):.0f}", CONVERSATIONS
    )
    table(
        "load: sockets open, median", f"{statistics.median(r[3] for r in full):.0f}", CONVERSATIONS * SOCKETS
    )
    table("load: requests a second", f"{len(load.times) / rows[-1][0]:.1f}", f"{RATE:.0f}")
    for name, share in (("median", 0.5), ("p95", 0.95), ("p99", 0.99), ("longest", 1)):
        table(f"load: request, {name}", shown(load.times, share))
    table("load: frames on sockets", f"{load.frames:,}")
    table("load: conversations followed to their end", f"{load.ended:,}")
    table(
        "load: CPU of the server",
        f"{(full[-1][4] - full[0][4]) / (full[-1][0] - full[0][0]):.2f} cores",
        "< 2",
    )
    memory = [f"{statistics.median(row[1] for row in part):.0f}" for part in (early, late)]
    table("load: memory, first and last third", " and ".join(memory) + " MiB", "the same")
    table("load: errors", len(load.errors), 0)

    assert load.errors == []
