"""``/metrics`` is read by Prometheus' own parser, moves with what happens, and is not for strangers."""

import contextlib
import json

import httpx
import pytest
from websockets.sync.client import connect

from tests.contract.dialogue import finish, say, shell
from tests.observability.conftest import KEY, TOKEN
from tests.support.waiting import wait_until


def grown(before, after, name, **labels):
    return after(name, **labels) - before(name, **labels)


def test_a_conversation_moves_what_counts_it(scrape, talk):
    before = scrape()

    talk(shell("echo one"), shell("echo two"), finish()).wait_finished()

    after = wait_until(lambda: (s := scrape())("runs_running") == 0 and s, message="the end of the run")
    model = {"model": "openai/fake-model"}
    assert grown(before, after, "runs_started_total") == 1
    assert grown(before, after, "runs_ended_total", outcome="finished") == 1
    assert grown(before, after, "steps_total") == 3
    assert grown(before, after, "llm_seconds_count", **model) == 3
    assert grown(before, after, "llm_tokens_total", kind="prompt", **model) == 300
    assert grown(before, after, "llm_tokens_total", kind="completion", **model) == 30
    assert grown(before, after, "llm_cost_dollars_total", **model) == pytest.approx(3 * (0.1 + 0.02))
    assert grown(before, after, "event_append_seconds_count") >= 8
    assert grown(before, after, "writer_transaction_seconds_count") >= 8
    assert grown(before, after, "http_request_seconds_count", method="POST", status="2xx") >= 1


def test_a_run_that_goes_on_and_its_interrupt_are_seen(scrape, talk):
    before = scrape()
    conversation = talk(say("never", delay=60))
    conversation.wait_llm_call()
    during = scrape()

    conversation.ok("interrupt")

    after = scrape()
    assert grown(before, during, "runs_running") == 1
    assert grown(before, during, "lanes_busy") == 1
    assert grown(before, after, "runs_running") == 0
    assert grown(before, after, "runs_ended_total", outcome="interrupted") == 1
    for until in ("cut_off", "over"):
        assert grown(before, after, "interrupt_seconds_count", until=until) == 1
    cut_off, over = (grown(before, after, "interrupt_seconds_sum", until=u) for u in ("cut_off", "over"))
    assert 0 < cut_off <= over < 60


def test_a_failing_model_is_an_error_of_its_kind(scrape, talk):
    before = scrape()

    talk(say("no", status=401)).wait_status("error")

    after = wait_until(lambda: (s := scrape())("runs_running") == 0 and s, message="the end of the run")
    assert (
        grown(before, after, "llm_errors_total", model="openai/fake-model", error="AuthenticationError") == 1
    )
    assert grown(before, after, "runs_ended_total", outcome="error") == 1


def test_sockets_are_counted_while_open_and_so_is_what_they_are_sent(server, scrape, talk):
    conversation = talk()
    before, address = scrape(), server.url.replace("http", "ws", 1)
    path = f"{address}/sockets/events/{conversation.id}"
    with connect(path, additional_headers=server.headers) as socket:
        json.loads(socket.recv(timeout=10))  # the state, once it is let in
        during = scrape()
        conversation.tell(finish())
        with contextlib.suppress(TimeoutError):
            while True:
                frame = json.loads(socket.recv(timeout=10))
                if frame.get("key") == "execution_status" and frame.get("value") == "finished":
                    break

    assert grown(before, during, "sockets_open", kind="events") == 1
    wait_until(lambda: scrape()("sockets_open", kind="events") == before("sockets_open", kind="events"))
    assert grown(before, scrape(), "event_delivery_seconds_count") >= 4


@pytest.mark.parametrize(
    ("command", "outcome"), [("true", "success"), ("exit 3", "failure"), ("kill -9 $$", "signal")]
)
def test_bash_commands_are_counted_by_how_they_end(server, scrape, command, outcome):
    before = scrape()

    server.http.post("/api/bash/execute_bash_command", json={"command": command})

    after = scrape()
    assert grown(before, after, "bash_commands_started_total") == 1
    assert grown(before, after, "bash_commands_ended_total", outcome=outcome) == 1


def test_pools_writer_and_machine_are_shown(scrape):
    seen = scrape()

    assert {"request", "waiting", "reading"} <= {
        s.labels["pool"] for s in seen.samples if s.name == "agentserver_pool_threads"
    }
    assert seen("pool_busy", pool="request") >= 1  # the one that answers this
    assert seen("writer_queue") == 0
    assert seen("lanes_limit") == 10
    assert seen("disk_free_bytes") > 0
    assert any(sample.name == "process_resident_memory_bytes" for sample in seen.samples)


def test_every_metric_says_what_it_is(scrape):
    ours = [family for name, family in scrape().families.items() if name.startswith("agentserver_")]
    assert len(ours) >= 25
    assert all(family.documentation.endswith(".") or "OH_" in family.documentation for family in ours)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": f"Bearer {TOKEN}"}, 200),
        ({"X-Session-API-Key": KEY}, 200),
        ({"X-Session-API-Key": TOKEN}, 401),
    ],
)
def test_metrics_are_for_operators_and_for_the_scrape_token(server, headers, status):
    assert httpx.get(f"{server.url}/metrics", headers=headers).status_code == status


@pytest.mark.parametrize(("method", "path"), [("GET", "/api/conversations/count"), ("POST", "/metrics")])
def test_the_scrape_token_opens_nothing_else(server, method, path):
    answer = httpx.request(method, f"{server.url}{path}", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 401


def test_without_keys_this_machine_may_scrape(agent_server):
    answer = httpx.get(f"{agent_server.url}/metrics", headers=agent_server.headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")


def test_names_that_come_from_outside_are_bounded():
    from agentserver.observability.metrics import bounded

    value = bounded(most=2)

    assert [value(name) for name in ("a", "b", "c", "a", "d")] == ["a", "b", "other", "a", "other"]
