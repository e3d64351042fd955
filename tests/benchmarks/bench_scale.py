"""What docs/scaling.md says of clusters, measured: start, stop, take-over, steps with 1, 2 and 4 runners.

Prints a table; nothing here fails for being slow. PostgreSQL and Redis are started by it. Run it on a
quiet machine: make bench ARGS="-k scale". It takes six minutes on two cores.
"""

import random
import statistics
import time

import psycopg
import pytest

from tests.contract.dialogue import Dialogue, finish, thinking
from tests.scale.storm import Storm
from tests.support import services
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(services.missing()), reason=services.missing() or "-"),
]

STARTS = 180
RUNNING, INTERRUPTS = 100, 100
WRITERS, STEPS = 20, 30
NEW, MESSAGES, KILLS = 30, 40, 3

WATCH = """
CREATE TABLE bench (job bigint, what text, at timestamptz DEFAULT clock_timestamp());
CREATE FUNCTION bench() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO bench (job, what) VALUES (NEW.id, NEW.status::text); RETURN NEW; END $$;
CREATE TRIGGER bench_made AFTER INSERT ON procrastinate_jobs
    FOR EACH ROW WHEN (NEW.task_name = 'tend') EXECUTE FUNCTION bench();
CREATE TRIGGER bench_taken AFTER UPDATE ON procrastinate_jobs
    FOR EACH ROW WHEN (NEW.task_name = 'tend' AND NEW.status = 'doing') EXECUTE FUNCTION bench();
"""
WAITED = """
SELECT extract(epoch FROM min(b.at) - min(a.at))::float FROM bench a JOIN bench b USING (job)
WHERE a.what = 'todo' AND b.what = 'doing' GROUP BY job
"""


@pytest.fixture(scope="module")
def table():
    """Callable: print a measurement."""
    return lambda what, value: print(f"{what:<50}  {value}", flush=True)


@pytest.fixture
def cluster(tmp_path):
    """Callable: a cluster of two web processes and so many runners."""
    started = []

    def _start(runners, **options):
        storm = Storm(tmp_path / str(runners), runners, OH_CRASH_RECOVERY="error", **options)
        started.append(storm)
        storm.cluster.start(timeout=STARTS).wait_ready(STARTS)
        wait_until(lambda: storm.cluster.log.read_text().count("Runner ") >= runners, STARTS)
        return storm

    yield _start
    for storm in started:
        storm.close()


@pytest.fixture
def open_in(llm_url, tmp_path):
    """Callable: a conversation in a cluster, whose agent only thinks."""
    llm = {"usage_id": "bench", "model": "openai/fake", "base_url": f"{llm_url}/v1", "api_key": "k"}
    agent = {"kind": "Agent", "llm": llm, "include_default_tools": ["FinishTool", "ThinkTool"]}

    def _open(storm, *steps, **more):
        return Dialogue.open(storm.cluster.http, llm_url, agent, tmp_path, *steps, **more)

    return _open


def shown(seconds):
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return f"p50 {1000 * statistics.median(ordered):.0f} ms, p99 {1000 * p99:.0f} ms ({len(ordered)})"


def test_start_and_stop_with_two_runners(cluster, open_in, table):
    storm = cluster(2, OH_MAX_CONCURRENT_RUNS="80")
    with psycopg.connect(storm.database, autocommit=True) as connection:
        connection.execute(WATCH)
        _starts(storm, open_in, table)
        table("a job is taken after", shown([row[0] for row in connection.execute(WAITED)]))
        _interrupts(storm, open_in, table)
        connections = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        )
        table(f"connections to PostgreSQL, {RUNNING} running", connections.fetchone()[0] - 1)


def _starts(storm, open_in, table):
    took = []
    for _ in range(NEW):
        began = time.time()
        conversation = open_in(storm, finish())
        conversation.wait_finished()
        took.append(conversation.llm_calls()[0]["began"] - began)
    table("a new conversation: first model call after", shown(took))
    took = []
    for _ in range(MESSAGES):
        calls = len(conversation.llm_calls())
        began = time.time()
        conversation.tell(finish())
        conversation.wait_finished()
        took.append(conversation.llm_calls()[calls]["began"] - began)
    table("a message: model call after", shown(took))


def _interrupts(storm, open_in, table):
    steps = thinking(100, delay=10)  # what a model takes; faster ones would have the cores busy with steps
    running = [open_in(storm, *steps) for _ in range(RUNNING)]
    for conversation in running:
        wait_until(lambda one=conversation: one.llm_calls(), 60)
    took, chance = [], random.Random(1)
    for _ in range(INTERRUPTS):
        conversation = chance.choice(running)
        began = time.perf_counter()
        conversation.ok("interrupt")
        took.append(time.perf_counter() - began)
        assert conversation.status == "paused"
        conversation.tell(*steps)
        wait_until(lambda one=conversation: one.llm_calls("pending"), 30)
    table(f"interrupt with {RUNNING} running", shown(took))
    for conversation in running:
        conversation.delete()


@pytest.mark.parametrize("runners", [1, 2, 4])
def test_steps_a_second(cluster, open_in, table, runners):
    storm = cluster(runners, OH_MAX_CONCURRENT_RUNS="20")
    open_in(storm, finish()).wait_finished(timeout=60)
    writers = [open_in(storm, *thinking(STEPS), finish(), run=False) for _ in range(WRITERS)]
    began = time.perf_counter()
    for conversation in writers:
        conversation.post("run")
    for conversation in writers:
        conversation.wait_finished(timeout=300)
    took = time.perf_counter() - began
    table(f"steps a second, {runners} runners", f"{WRITERS * (STEPS + 1) / took:.0f}")


def test_taking_over(cluster, open_in, table):
    storm = cluster(3)
    took = []
    for _ in range(KILLS):
        conversation = open_in(storm, *thinking(3, delay=600))
        conversation.wait_llm_call()
        (runner,) = [one for one in storm.cluster.processes("run_conversations") if _calls(one, conversation)]
        began = time.perf_counter()
        runner.kill()
        conversation.wait_status("error", timeout=60)
        took.append(time.perf_counter() - began)
        conversation.delete()
    table("kill -9 of a runner: at rest in another after", ", ".join(f"{one:.1f} s" for one in took))


def _calls(process, conversation):
    port = int(conversation.llm_url.rsplit(":", 1)[1])
    return any(one.raddr and one.raddr.port == port for one in process.net_connections("tcp"))
