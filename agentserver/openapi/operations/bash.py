"""Bash commands and their outputs."""

from agentserver.openapi.operation import operation as op

_BASH = "/api/bash"
_REQUEST = "bashevents.serializers:ExecuteRequest"
_FILTERS = "kind__eq command_id__eq timestamp__gte:time timestamp__lt:time order__gt:int"
_EVENT = {
    "anyOf": [{"$ref": "#/components/schemas/BashCommand"}, {"$ref": "#/components/schemas/BashOutput"}]
}

OPERATIONS = (
    op("POST", f"{_BASH}/start_bash_command", body=_REQUEST, answer="BashCommand", scoped=True),
    op("POST", f"{_BASH}/execute_bash_command", body=_REQUEST, answer="BashOutput", scoped=True),
    op(
        "POST",
        f"{_BASH}/bash_commands/{{command_id}}/stop",
        answer="Success",
        errors=(404,),
        scoped=True,
    ),
    op(
        "GET",
        f"{_BASH}/bash_events/search",
        answer="BashEventPage",
        query=f"{_FILTERS} sort_order page_id limit:limit",
        scoped=True,
    ),
    op("GET", f"{_BASH}/bash_events/", answer=[_EVENT], query="event_ids:list", scoped=True),
    op("GET", f"{_BASH}/bash_events/{{event_id}}", answer=_EVENT, errors=(404,), scoped=True),
    op(
        "DELETE",
        f"{_BASH}/bash_events",
        answer={"type": "object", "additionalProperties": {"type": "integer"}},
        scoped=True,
    ),
)
