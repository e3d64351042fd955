"""A runner process, which has no HTTP, shows its metrics on a port of their own."""

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from agentserver import conf
from agentserver.observability import exposing
from tests.support.waiting import free_port


@pytest.fixture
def expose(monkeypatch):
    """Callable: serve with these settings; the server."""
    started = []

    def _expose(**settings):
        for name, value in settings.items():
            monkeypatch.setattr(conf.current(), name, value)
        server = exposing.start(conf.current())
        if server is not None:
            started.append(server)
        return server

    yield _expose
    for server in started:
        server.shutdown()
        server.server_close()


def get(server, path="/metrics", **headers):
    return httpx.get(f"http://127.0.0.1:{server.server_port}{path}", headers=headers)


def test_without_a_token_this_machine_may_scrape(expose):
    server = expose(metrics_port=free_port())

    answer = get(server)

    assert server.server_address[0] == "127.0.0.1"
    names = {family.name for family in text_string_to_metric_families(answer.text)}
    assert {"agentserver_runs_started", "agentserver_lanes_busy"} <= names


def test_with_a_token_others_may_who_bring_it(expose):
    server = expose(metrics_port=free_port(), metrics_token="the-token")

    assert server.server_address[0] == "0.0.0.0"
    assert get(server).status_code == 401
    assert get(server, Authorization="Bearer wrong").status_code == 401
    assert get(server, Authorization="Bearer the-token").status_code == 200


def test_there_is_nothing_else(expose):
    assert get(expose(metrics_port=free_port()), "/").status_code == 404


def test_it_is_off_unless_asked_for_and_says_when_it_cannot(expose):
    assert expose(metrics_port=None) is None
    taken = expose(metrics_port=free_port()).server_port
    with pytest.raises(conf.ConfigurationError, match="OH_METRICS_PORT"):
        expose(metrics_port=taken)
