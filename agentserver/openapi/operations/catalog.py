"""Models, tools, skills, plugins, MCP servers and the façade for OpenAI clients."""

from agentserver.openapi.operation import Operation
from agentserver.openapi.operation import operation as op

_BODIES = "agentserver.catalog.bodies"
_OBJECT = {"type": "object"}
_SUBSCRIPTION = "/api/llm/subscription/openai"
_CANVAS = "/api/canvas-extensions/installed/{extension_name}"
_BINARY = {"type": "string", "format": "binary"}


def _installed(base: str, name: str, *, refreshed: bool = True) -> tuple[Operation, ...]:
    """What skills, plugins and extensions have in common."""
    one = f"{base}/installed/{{{name}}}"
    return (
        op("POST", f"{base}/install", body=f"{_BODIES}:InstallBody", answer=_OBJECT, errors=(400, 409)),
        op("GET", f"{base}/installed", answer=_OBJECT),
        op("GET", one, answer=_OBJECT, errors=(404,)),
        op("PATCH", one, body=f"{_BODIES}:StateBody", answer=_OBJECT, errors=(404,)),
        op("DELETE", one, answer=_OBJECT, errors=(404,)),
        *([op("POST", f"{one}/refresh", answer=_OBJECT, errors=(400, 404))] if refreshed else ()),
    )


OPERATIONS = (
    op("GET", "/api/llm/models", answer=_OBJECT, query="provider"),
    op("GET", "/api/llm/models/verified", answer=_OBJECT),
    op("GET", "/api/llm/providers", answer=_OBJECT),
    op("GET", f"{_SUBSCRIPTION}/status", answer=_OBJECT),
    op("GET", f"{_SUBSCRIPTION}/models", answer=_OBJECT),
    op("POST", f"{_SUBSCRIPTION}/logout", answer=_OBJECT),
    op("POST", f"{_SUBSCRIPTION}/device/start", answer=_OBJECT),
    op("POST", f"{_SUBSCRIPTION}/device/poll", body=f"{_BODIES}:DeviceBody", answer=_OBJECT),
    op("GET", "/api/tools/", answer=[{"type": "string"}]),
    op("GET", "/api/tools/catalog", answer=_OBJECT),
    op("POST", "/api/hooks", body=f"{_BODIES}:HooksBody", answer=_OBJECT),
    op("POST", "/api/sub-agents", body=f"{_BODIES}:ProjectBody", answer=_OBJECT),
    op("POST", "/api/mcp/test", body=f"{_BODIES}:MCPTestBody", answer=_OBJECT),
    op("POST", "/api/mcp/oauth/start", body=f"{_BODIES}:MCPTestBody", answer=_OBJECT),
    op("GET", "/api/mcp/oauth/status/{job_id}", answer=_OBJECT, errors=(404,)),
    op("POST", "/api/mcp/oauth/callback/{job_id}", body=f"{_BODIES}:CallbackBody", answer=_OBJECT),
    op("POST", "/api/acp/models", body=f"{_BODIES}:ACPBody", answer=_OBJECT),
    op("POST", "/api/skills", body=f"{_BODIES}:SkillsBody", answer=_OBJECT),
    op("GET", "/api/skills/catalog", answer=_OBJECT),
    op("GET", "/api/skills/marketplace", answer=_OBJECT),
    op("POST", "/api/skills/sync", answer=_OBJECT),
    *_installed("/api/skills", "skill_name"),
    op("POST", "/api/plugins", body=f"{_BODIES}:ProjectBody", answer=_OBJECT),
    op("POST", "/api/plugins/fetch", body=f"{_BODIES}:FetchBody", answer=_OBJECT, errors=(502, 504)),
    op("GET", "/api/plugins/marketplace", answer=_OBJECT),
    *_installed("/api/plugins", "plugin_name"),
    *_installed("/api/canvas-extensions", "extension_name", refreshed=False),
    op("GET", f"{_CANVAS}/backend", answer=_OBJECT),
    op("DELETE", f"{_CANVAS}/backend/data", answer=_OBJECT, errors=(409,)),
    op("GET", f"{_CANVAS}/backend/logs", answer=_OBJECT, query="limit_bytes:int"),
    op("POST", f"{_CANVAS}/backend/prepare", body=_OBJECT, answer=_OBJECT, errors=(409,)),
    op("POST", f"{_CANVAS}/backend/start", body=_OBJECT, answer=_OBJECT, errors=(409,)),
    op("POST", f"{_CANVAS}/backend/stop", answer=_OBJECT),
    op("GET", f"{_CANVAS}/bundle", answer=_BINARY, shapes=("text/javascript",), errors=(404,)),
    op("GET", f"{_CANVAS}/icon", answer=_BINARY, shapes=("*/*",), errors=(404,)),
    op("POST", "/app-backends/{extension_name}/session", answer=_OBJECT, errors=(403, 404, 409)),
    op("DELETE", "/app-backends/{extension_name}/session", ok=204, errors=(403,)),
    op("GET", "/v1/models", answer=_OBJECT),
    op("POST", "/v1/chat/completions", body=_OBJECT, answer=_OBJECT),
    op("POST", "/v1/responses", body=_OBJECT, answer=_OBJECT),
)
