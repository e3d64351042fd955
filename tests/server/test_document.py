"""The OpenAPI document is one that tools can read."""

import httpx
import pytest
from drf_spectacular.validation import validate_schema


@pytest.fixture(scope="module")
def document(agent_server):
    return httpx.get(f"{agent_server.url}/openapi.json", timeout=60).json()


def test_the_document_is_valid_openapi(document):
    assert document["openapi"] == "3.1.0"
    validate_schema(document)


def discriminators(tree):
    """Every discriminator below ``tree``."""
    if isinstance(tree, dict):
        if "propertyName" in tree and "mapping" in tree:
            yield tree
        tree = list(tree.values())
    for below in tree if isinstance(tree, list) else ():
        yield from discriminators(below)


def test_kinds_are_told_apart_by_what_clients_send(document):
    schemas, found = document["components"]["schemas"], list(discriminators(document))
    assert len(found) > 5

    for each in found:
        for value, ref in each["mapping"].items():
            kind = schemas[ref.rpartition("/")[2]]["properties"][each["propertyName"]]
            assert value == kind.get("const", value), ref
