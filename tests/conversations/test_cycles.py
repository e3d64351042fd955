"""Conversations that are made, run, finish and are deleted leave nothing in the server.

``CYCLES`` (default 20): how many after the first. The full figure of a release is 500; ``-s`` shows it.
"""

import os
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from tests.contract.dialogue import Dialogue, finish, shell
from tests.conversations.test_idle import shells

CYCLES = int(os.environ.get("CYCLES", "20"))
AT_ONCE = 10
POOLS = {"OH_REQUEST_THREADS": "2", "OH_SLOW_REQUEST_THREADS": "4"}
"""Pools get threads as they are needed, up to this many: so few that the first conversations need all."""

Footprint = namedtuple("Footprint", ["threads", "files", "children", "megabytes"])


def footprint(server):
    process = psutil.Process(server.process.pid)
    with process.oneshot():
        children = [*process.children(recursive=True), *shells(server)]
        return Footprint(
            process.num_threads(), process.num_fds(), len(children), process.memory_info().rss / 1e6
        )


def cycle(server, llm_url, agent, folder):
    conversation = Dialogue.open(server.http, llm_url, agent, folder, shell("echo x"), finish("done"))
    conversation.wait_finished()
    assert conversation.delete().status_code == 200


@pytest.mark.slow
@pytest.mark.timeout(120 + 5 * CYCLES)
def test_what_a_server_holds_does_not_grow(own_server, llm_url, agent_config, tmp_path, wait_until):
    server = own_server(OH_SECRET_KEY="tests-secret-key", **POOLS).wait_ready()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(lambda _: cycle(server, llm_url, agent_config, tmp_path), range(2 * AT_ONCE)):
            pass
    before = footprint(server)

    for _ in range(CYCLES):
        cycle(server, llm_url, agent_config, tmp_path)

    after = []

    def as_before():
        after[:] = [footprint(server)]
        return all(now <= then for now, then in zip(after[0][:3], before, strict=False))

    try:
        wait_until(as_before, 30, message="threads, files and children as before")
    finally:
        print(f"\n{CYCLES} cycles: {before} before, {after} after")
