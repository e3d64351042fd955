"""A client of the running server, and names that nobody else uses."""

import httpx
import pytest


@pytest.fixture(scope="session")
def http(agent_server):
    with httpx.Client(base_url=agent_server.url, headers=agent_server.headers, timeout=60) as client:
        yield client


@pytest.fixture
def plaintext():
    return {"X-Expose-Secrets": "plaintext"}


@pytest.fixture
def llm(llm_url):
    """A model that answers, as a client describes it."""
    return {
        "model": "openai/fake-model",
        "base_url": f"{llm_url}/v1",
        "api_key": "sk-plain",
        "usage_id": "tests",
    }


@pytest.fixture
def cleaned(http):
    """Callable: remember a path that is deleted when the test ends, last first."""
    paths = []
    yield paths.append
    for path in reversed(paths):
        http.delete(path)


@pytest.fixture
def saved(http, cleaned):
    """Callable: save a profile of a kind (``profiles``, ``agent-profiles``, ``meta-profiles``)."""

    def _saved(kind, name, body):
        response = http.post(f"/api/{kind}/{name}", json=body)
        assert response.status_code == 201, response.text
        cleaned(f"/api/{kind}/{name}")
        return name

    return _saved
