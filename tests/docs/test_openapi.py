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


def test_what_is_added_and_what_parameters_of_paths_are_called_breaks_nobody(changed):
    changed["paths"]["/api/new"] = {"get": {"responses": {"200": {}}}}
    changed["paths"]["/api/conversations/{id}/events"] = changed["paths"].pop(PATH)

    assert list(breaks(PROMISED, changed)) == []
