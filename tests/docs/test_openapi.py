"""Nothing that the last release promised goes away without a word in the changelog."""

import copy
import json
import re

import httpx
import pytest

from tests.docs.blocks import ROOT
from tests.docs.breaking import breaks

PROMISED = json.loads((ROOT / "docs" / "openapi.json").read_text())


def unreleased():
    """The changelog's text about what is not released yet."""
    return re.search(
        r"^## \[Unreleased\]\n(.*?)(?=^## |\Z)", (ROOT / "CHANGELOG.md").read_text(), re.M | re.S
    )[1]


def test_whatever_breaks_clients_is_in_the_changelog(agent_server):
    served = httpx.get(f"{agent_server.url}/openapi.json", timeout=60).json()
    notes = unreleased()

    untold = [what for what in breaks(PROMISED, served) if " ".join(what.split()[:2]) not in notes]

    assert untold == [], "write each of them, with METHOD /path/{}, under Unreleased in CHANGELOG.md"


@pytest.fixture
def changed():
    return copy.deepcopy(PROMISED)


PATH = "/api/conversations/{conversation_id}/events"


def test_a_path_that_is_gone_breaks(changed):
    del changed["paths"][PATH]

    assert "POST /api/conversations/{}/events is gone" in list(breaks(PROMISED, changed))


def test_an_answer_that_is_not_given_any_more_breaks(changed):
    changed["paths"]["/api/conversations/count"]["get"]["responses"].pop("200")

    assert list(breaks(PROMISED, changed)) == ["GET /api/conversations/count does not answer 200 any more"]


def test_a_new_demand_breaks(changed):
    parameter = {"in": "query", "name": "reason", "required": True}
    changed["paths"]["/api/conversations/count"]["get"].setdefault("parameters", []).append(parameter)

    assert list(breaks(PROMISED, changed)) == ["GET /api/conversations/count demands query parameter reason"]


def test_a_property_of_the_body_that_must_now_be_given_breaks(changed):
    schema = changed["paths"][PATH]["post"]["requestBody"]["content"]["application/json"]["schema"]
    if "$ref" in schema:
        schema = changed["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    schema["required"] = [*schema.get("required", []), "run"]

    assert "POST /api/conversations/{}/events demands run" in list(breaks(PROMISED, changed))


INFO = ("get", "/api/conversations/{conversation_id}", "200")


@pytest.fixture
def answered():
    """Callable: what a document says of the answer with a conversation."""

    def _answered(document):
        method, path, status = INFO
        answer = document["paths"][path][method]["responses"][status]["content"]["application/json"]["schema"]
        while "$ref" in answer:
            answer = document["components"]["schemas"][answer["$ref"].rpartition("/")[2]]
        return answer

    return _answered


def test_a_property_of_an_answer_that_goes_away_breaks(changed, answered):
    del answered(changed)["properties"]["execution_status"]

    found = list(breaks(PROMISED, changed))
    assert "GET /api/conversations/{} does not answer execution_status any more" in found


def test_a_parameter_that_is_not_known_any_more_breaks(changed):
    operation = changed["paths"]["/api/conversations/search"]["get"]
    operation["parameters"] = [p for p in operation["parameters"] if p["name"] != "limit"]

    assert list(breaks(PROMISED, changed)) == [
        "GET /api/conversations/search does not know query parameter limit any more"
    ]


def test_a_value_that_may_not_be_sent_any_more_breaks():
    def document(*values):
        schema = {"properties": {"mode": {"enum": list(values)}}}
        body = {"content": {"application/json": {"schema": schema}}}
        return {"paths": {"/api/x": {"post": {"responses": {}, "requestBody": body}}}}

    assert list(breaks(document("a", "b"), document("a"))) == ["POST /api/x does not take mode: 'b' any more"]
    assert list(breaks(document("a"), document("a", "b"))) == []


def test_what_is_added_and_what_parameters_of_paths_are_called_breaks_nobody(changed):
    changed["paths"]["/api/new"] = {"get": {"responses": {"200": {}}}}
    changed["paths"]["/api/conversations/{id}/events"] = changed["paths"].pop(PATH)

    assert list(breaks(PROMISED, changed)) == []
