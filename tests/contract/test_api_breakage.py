"""What clients of the reference call exists here: each path, method, required parameter, success status.

``reference_operations.json`` holds these facts of the two reference documents: method, path,
required query parameters, success statuses.
"""

import json
import re
from pathlib import Path

import pytest

REFERENCE = json.loads(Path(__file__).with_name("reference_operations.json").read_text())

KNOWN_GAPS = {
    # (method, path): why it is not here. May only shrink.
}


def shape(path):
    """``path`` without the names of its parameters and without a slash at its end."""
    return re.sub(r"\{[^}]*\}", "{}", path).rstrip("/")


@pytest.fixture(scope="module")
def served(http):
    """The operations that the document of this server shows, by method and shape of the path."""
    paths = http.get("/openapi.json").json()["paths"]
    return {
        (method.upper(), shape(path)): operation
        for path, item in paths.items()
        for method, operation in item.items()
    }


@pytest.mark.parametrize("version", REFERENCE)
def test_nothing_that_clients_call_is_missing(served, version):
    missing = {
        (method, path) for method, path, _, _ in REFERENCE[version] if (method, shape(path)) not in served
    }
    assert missing - set(KNOWN_GAPS) == set()


def test_no_gap_is_listed_that_is_closed(served):
    listed = {(method, shape(path)) for method, path in KNOWN_GAPS}
    assert not listed & set(served)


@pytest.mark.parametrize("version", REFERENCE)
def test_no_parameter_is_required_that_was_not(served, version):
    for method, path, required, _ in REFERENCE[version]:
        operation = served.get((method, shape(path)), {})
        asked = {p["name"] for p in operation.get("parameters", []) if p["in"] == "query" and p["required"]}
        assert asked <= set(required), (method, path)


@pytest.mark.parametrize("version", REFERENCE)
def test_every_success_is_still_one(served, version):
    for method, path, _, statuses in REFERENCE[version]:
        if (operation := served.get((method, shape(path)))) is not None:
            assert set(map(str, statuses)) <= set(operation["responses"]), (method, path)
