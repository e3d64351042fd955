"""The demo model as the model of somebody who has configured none."""

import os
from typing import Any

from agentserver.demo.story import MODEL


def stand_in(llm: Any) -> Any:
    """``llm``, or the demo model if ``llm`` (the SDK's) says no way to reach a model.

    That is the SDK's default model without a key, an address or a connection, while the environment
    has no key of its provider either: a request to it could only fail.
    """
    address = _address()
    if address is None or not _is_unset(llm):
        return llm
    return llm.model_copy(update={"model": f"openai/{MODEL}", "base_url": address, "api_key": _key()})


def described() -> dict[str, Any] | None:
    """The demo model as a client would describe it, streaming; None where nothing serves."""
    address = _address()
    if address is None:
        return None
    name = f"openai/{MODEL}"
    return {"usage_id": MODEL, "model": name, "base_url": address, "api_key": "none", "stream": True}


def _is_unset(llm: Any) -> bool:
    from litellm import validate_environment

    if llm.model != type(llm).model_fields["model"].default or llm.auth_type != "api_key":
        return False
    if llm.api_key or llm.base_url or llm.provider_connection_id:
        return False
    return not validate_environment(llm.model)["keys_in_environment"]


def _address() -> str | None:
    """The base URL under which this server's own model answers; None where nothing serves."""
    port = os.environ.get("AGENT_SERVER_PORT")
    return f"http://{os.environ.get('AGENT_SERVER_HOST', '127.0.0.1')}:{port}/demo/v1" if port else None


def _key() -> Any:
    from pydantic import SecretStr

    return SecretStr("none")  # the client of OpenAI wants one
