"""A server without a model answers with its demo model; whoever configures one never meets it."""

import pytest
from openhands.sdk import LLM

from agentserver.demo import llm as demo

DEFAULT = LLM.model_fields["model"].default


@pytest.fixture(autouse=True)
def serving(monkeypatch):
    monkeypatch.setenv("AGENT_SERVER_PORT", "1234")
    monkeypatch.delenv("AGENT_SERVER_HOST", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_an_unset_model_becomes_the_demo_model_of_this_server():
    llm = demo.stand_in(LLM(usage_id="agent", model=DEFAULT))

    assert (llm.model, llm.base_url) == ("openai/demo", "http://127.0.0.1:1234/demo/v1")


@pytest.mark.parametrize(
    "configured",
    [{"model": "openai/other"}, {"api_key": "k"}, {"base_url": "http://127.0.0.1:1"}],
    ids=lambda given: next(iter(given)),
)
def test_a_model_that_somebody_configured_stays(configured):
    llm = LLM(**{"usage_id": "agent", "model": DEFAULT, **configured})

    assert demo.stand_in(llm) is llm


def test_a_provider_key_in_the_environment_is_a_configuration(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    llm = LLM(usage_id="agent", model=DEFAULT)

    assert demo.stand_in(llm) is llm


def test_where_nothing_serves_there_is_no_demo_model(monkeypatch):
    monkeypatch.delenv("AGENT_SERVER_PORT")
    llm = LLM(usage_id="agent", model=DEFAULT)

    assert demo.stand_in(llm) is llm
