"""The OpenAPI document is one that tools can read."""

import httpx
from drf_spectacular.validation import validate_schema


def test_the_document_is_valid_openapi(agent_server):
    document = httpx.get(f"{agent_server.url}/openapi.json", timeout=60).json()

    assert document["openapi"] == "3.1.0"
    validate_schema(document)
