"""Parameters that several views read."""

from rest_framework.request import Request

from agentserver.errors import invalid


def required(request: Request, name: str) -> str:
    """A query parameter that must be there; it may be empty. Raises Invalid (422)."""
    text = request.query_params.get(name)
    if text is None:
        raise invalid(["query", name], "Field required", "missing")
    return text
