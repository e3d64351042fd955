"""What leaves the server for services of others, over real HTTP: traces of runs, reports of errors."""

import contextlib
import json
import sqlite3

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.contract.dialogue import Dialogue, finish, say, shell
from tests.support.outsider import Outsider
from tests.support.server import OwnServer, database_file
from tests.support.waiting import wait_until

KEY = "canary-session-key"
SAID = "canary-of-what-was-said"


@pytest.fixture(scope="module")
def collector():
    with Outsider() as outsider:
        yield outsider


@pytest.fixture(scope="module")
def ingest():
    with Outsider() as outsider:
        yield outsider


@pytest.fixture(scope="module")
def server(tmp_path_factory, collector, ingest):
    made = OwnServer(
        tmp_path_factory.mktemp("outside"),
        OH_SESSION_API_KEYS_0=KEY,
        OH_SECRET_KEY="canary-secret-key",
        OH_OTEL_ENDPOINT=f"http://127.0.0.1:{collector.port}",
        OH_OTEL_HEADERS=json.dumps({"x-collector-key": "canary-collector"}),
        SENTRY_DSN=f"http://canarydsn@127.0.0.1:{ingest.port}/7",
    )
    yield made.start().wait_ready()
    made.stop()


@pytest.fixture
def talk(server, llm_url, agent, tmp_path):
    return lambda *steps: Dialogue.open(server.http, llm_url, agent, tmp_path, *steps)


def spans(collector):
    """Every span that arrived, as (span, its attributes)."""
    found = []
    for request in list(collector.received):
        message = ExportTraceServiceRequest.FromString(request.body)
        for resource in message.resource_spans:
            for scope in resource.scope_spans:
                found += [(span, {a.key: _value(a.value) for a in span.attributes}) for span in scope.spans]
    return found


def _value(value):
    return getattr(value, value.WhichOneof("value"))


def runs_of(collector, conversation, count):
    """The root spans of a conversation's runs, once there are so many."""

    def found():
        roots = [(s, a) for s, a in spans(collector) if a.get("conversation.id") == conversation.id]
        return roots if len(roots) == count else None

    return wait_until(found, message=f"{count} runs traced")


def test_each_run_is_a_trace_with_its_model_calls_and_tools(collector, talk):
    conversation = talk(shell(f"echo {SAID}"), finish(SAID))
    conversation.wait_finished()
    conversation.tell(finish("again"))
    conversation.wait_finished()

    first, second = sorted(runs_of(collector, conversation, 2), key=lambda run: run[1]["run.number"])
    assert first[0].trace_id != second[0].trace_id
    assert not first[0].parent_span_id
    assert (first[1]["run.outcome"], first[1]["run.steps"]) == ("finished", 2)
    below = [(s, a) for s, a in spans(collector) if s.parent_span_id == first[0].span_id]
    assert sorted(span.name for span, _ in below) == ["llm", "llm", "tool finish", "tool terminal"]
    assert all(span.trace_id == first[0].trace_id for span, _ in below)
    assert all(
        first[0].start_time_unix_nano <= s.start_time_unix_nano <= s.end_time_unix_nano for s, _ in below
    )
    model = next(attributes for span, attributes in below if span.name == "llm")
    assert model["gen_ai.request.model"] == "openai/fake-model"
    assert model["gen_ai.usage.input_tokens"] == 100


def test_a_run_that_fails_is_a_trace_that_says_so(collector, talk):
    conversation = talk(say(SAID, status=401))
    conversation.wait_status("error")

    [(root, attributes)] = runs_of(collector, conversation, 1)
    failed = [a for s, a in spans(collector) if s.parent_span_id == root.span_id]
    assert attributes["error.type"] == "error"
    assert failed[0]["error.type"] == "AuthenticationError"


def test_traces_carry_no_content_and_come_with_the_key_of_the_collector(collector, talk):
    talk(shell(f"echo {SAID}"), finish(SAID)).wait_finished()
    wait_until(lambda: spans(collector))

    assert {request.path for request in collector.received} == {"/v1/traces"}
    assert {request.headers["x-collector-key"] for request in collector.received} == {"canary-collector"}
    everything = b"".join(request.body for request in collector.received)
    assert b"canary" not in everything


@contextlib.contextmanager
def broken_database(server):
    """Within it a table is missing: what reads it fails inside the server."""
    path = database_file(server.root)

    def rename(old, new):
        with contextlib.closing(sqlite3.connect(path, timeout=20)) as connection:
            connection.execute("PRAGMA legacy_alter_table=ON")
            connection.execute(f"ALTER TABLE {old} RENAME TO {new}")

    rename("configuration_secret", "away")
    try:
        yield
    finally:
        rename("away", "configuration_secret")


def events(ingest):
    """The events of every envelope that arrived: JSON objects, one a line."""
    lines = [
        json.loads(line) for request in list(ingest.received) for line in request.body.splitlines() if line
    ]
    return [line for line in lines if "level" in line]


def test_an_error_is_reported_with_its_ids_and_without_secrets(server, ingest):
    with broken_database(server):
        answer = server.http.get(
            f"/api/settings/secrets?session_api_key={KEY}", headers={"X-Request-Id": "reported-1"}
        )

    assert answer.status_code == 500
    found = wait_until(lambda: [e for e in events(ingest) if e["tags"].get("request_id") == "reported-1"])
    assert found[0]["level"] == "error"
    assert "/api/settings/secrets" in found[0]["logentry"]["formatted"]
    frames = found[0]["exception"]["values"][-1]["stacktrace"]["frames"]
    assert frames
    assert not any("vars" in frame for frame in frames)
    assert {request.path for request in ingest.received} == {"/api/7/envelope/"}
    assert b"canary-" not in b"".join(request.body for request in ingest.received)


def test_services_that_are_away_do_not_keep_the_server_from_ending(tmp_path, llm_url, agent):
    nobody = "http://127.0.0.1:9"
    server = OwnServer(tmp_path, OH_OTEL_ENDPOINT=nobody, SENTRY_DSN="http://key@127.0.0.1:9/1")
    server.start().wait_ready()
    Dialogue.open(server.http, llm_url, agent, tmp_path, finish()).wait_finished()
    process = server.process

    server._signal(15)

    wait_until(lambda: process.poll() is not None, 15, message="exit")
    assert process.returncode == 0


@pytest.mark.parametrize("dsn", ["nonsense", "http://127.0.0.1:9/1"])
def test_a_dsn_that_cannot_be_used_is_said(dsn):
    from agentserver import conf
    from agentserver.observability import reports

    with pytest.raises(conf.ConfigurationError, match="SENTRY_DSN"):
        reports.start(conf.Configuration(SENTRY_DSN=dsn))


def test_scrubbing_reaches_every_text(monkeypatch):
    from agentserver import conf
    from agentserver.observability import reports

    monkeypatch.setattr(conf.current(), "session_api_keys", [KEY])
    event = {"a": [{KEY: f"x {KEY}"}], "b": (f"session_api_key={KEY}&x", 3, None)}

    assert KEY not in str(reports._scrubbed(event, None))
