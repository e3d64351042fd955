"""A keyed server for what operators see of it, and its metrics as a scraper reads them."""

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.contract.dialogue import Dialogue
from tests.support.server import OwnServer

KEY = "session-key-of-operators"
TOKEN = "scrape-token-of-prometheus"


class Scrape:
    """One look at ``/metrics``: ``scrape(name, label=value)`` is the sum of the samples that match."""

    def __init__(self, text):
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self.samples = [sample for family in self.families.values() for sample in family.samples]

    def __call__(self, name, **labels):
        name = f"agentserver_{name}"
        return sum(s.value for s in self.samples if s.name == name and labels.items() <= s.labels.items())


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One for all tests of this directory: with a session key, a scrape token and logs for machines."""
    made = OwnServer(
        tmp_path_factory.mktemp("observed"),
        OH_SESSION_API_KEYS_0=KEY,
        OH_SECRET_KEY="tests-secret-key",
        OH_METRICS_TOKEN=TOKEN,
        OH_LOG_FORMAT="json",
        OH_ACCESS_LOG="true",
    )
    yield made.start().wait_ready()
    made.stop()


@pytest.fixture
def scrape(server):
    """Callable: the metrics of the server now."""

    def _scrape():
        answer = httpx.get(f"{server.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30)
        assert answer.status_code == 200
        return Scrape(answer.text)

    return _scrape


@pytest.fixture(scope="session")
def agent(llm_url):
    llm = {
        "usage_id": "observed",
        "model": "openai/fake-model",
        "base_url": f"{llm_url}/v1",
        "api_key": "k",
        "num_retries": 0,
        "input_cost_per_token": 0.001,
        "output_cost_per_token": 0.002,
    }
    return {"kind": "Agent", "llm": llm, "tools": [{"name": "terminal", "params": {}}]}


@pytest.fixture
def talk(server, llm_url, agent, tmp_path):
    """Callable: open a conversation whose model plays these steps."""

    def _talk(*steps, **overrides):
        return Dialogue.open(server.http, llm_url, agent, tmp_path, *steps, **overrides)

    return _talk
