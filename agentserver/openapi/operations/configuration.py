"""Settings, secrets, profiles and provider connections."""

from agentserver.openapi.operation import Operation
from agentserver.openapi.operation import operation as op

_SDK = "openhands.sdk.settings.api_models"
_BODIES = "agentserver.configuration.views.bodies"
_OBJECT = {"type": "object"}
_SETTINGS = f"{_SDK}:SettingsResponse"
_SCHEMA = "openhands.sdk.settings.model:SettingsSchema"
_MCP = "/api/settings/mcp/{settings_key}"
_CONNECTIONS = "/api/llm/provider-connections"


def _profiles(base: str, body: object, *, identifier: str = "name") -> tuple[Operation, ...]:
    """What profiles of each kind have in common."""
    one = f"{base}/{{name}}"
    return (
        op("GET", base, answer=_OBJECT),
        op("GET", one, answer=_OBJECT, errors=(404,)),
        op("POST", one, body=body, answer=_OBJECT, ok=201, errors=(409,)),
        op("DELETE", one, answer=_OBJECT, errors=(409,)),
        op("POST", f"{base}/{{{identifier}}}/activate", answer=_OBJECT, errors=(404,)),
    )


def _rename(base: str) -> Operation:
    body = f"{_BODIES}:RenameBody"
    return op("POST", f"{base}/{{name}}/rename", body=body, answer=_OBJECT, errors=(404, 409))


OPERATIONS = (
    op("GET", "/api/settings", answer=_SETTINGS),
    op("PATCH", "/api/settings", body=f"{_SDK}:SettingsUpdateRequest", answer=_SETTINGS),
    op("GET", "/api/settings/agent-schema", answer=_SCHEMA),
    op("GET", "/api/settings/conversation-schema", answer=_SCHEMA),
    op("POST", _MCP, body=_OBJECT, answer=_SETTINGS, ok=201, errors=(409,)),
    op("PATCH", _MCP, body=f"{_SDK}:MCPServerPatch", answer=_SETTINGS, errors=(404,)),
    op("DELETE", _MCP, answer=_SETTINGS, errors=(404,)),
    op("GET", "/api/settings/secrets", answer=f"{_SDK}:SecretsListResponse", query="agent_profile_id"),
    op(
        "PUT",
        "/api/settings/secrets",
        body=f"{_BODIES}:SecretBody",
        answer=f"{_SDK}:SecretItemResponse",
    ),
    op(
        "GET",
        "/api/settings/secrets/{name}",
        answer={"type": "string"},
        shapes=("text/plain",),
        errors=(404,),
    ),
    op("DELETE", "/api/settings/secrets/{name}", answer=_OBJECT, errors=(404,)),
    *_profiles("/api/profiles", f"{_BODIES}:SaveProfileBody"),
    _rename("/api/profiles"),
    op("POST", "/api/profiles/{name}/validate", body=f"{_BODIES}:SaveProfileBody", answer=_OBJECT),
    *_profiles("/api/agent-profiles", _OBJECT, identifier="profile_id"),
    _rename("/api/agent-profiles"),
    op(
        "POST",
        "/api/agent-profiles/{name}/materialize",
        body=f"{_BODIES}:MaterializeBody",
        answer=_OBJECT,
        errors=(404,),
    ),
    *_profiles("/api/meta-profiles", "openhands.sdk.llm.meta_profile_store:MetaProfile"),
    op("GET", _CONNECTIONS, answer=[_OBJECT]),
    op("POST", _CONNECTIONS, body=f"{_BODIES}:ConnectionBody", answer=_OBJECT, ok=201),
    op(
        "PATCH",
        f"{_CONNECTIONS}/{{connection_id}}",
        body=f"{_BODIES}:ConnectionChange",
        answer=_OBJECT,
        errors=(404,),
    ),
    op("DELETE", f"{_CONNECTIONS}/{{connection_id}}", answer=_OBJECT, errors=(404, 409)),
)
