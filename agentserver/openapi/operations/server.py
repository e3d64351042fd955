"""The server itself and its front door."""

from agentserver.openapi.operation import operation as op

_AUTH = "agentserver.auth"

OPERATIONS = (
    op("GET", "/", answer="ServerInfo"),
    op("GET", "/server_info", answer="ServerInfo"),
    op("GET", "/alive", answer="Status"),
    op("GET", "/health", answer="Status", errors=(503,)),
    op("GET", "/ready", answer="Status", query="verbose:bool", errors=(503,)),
    op("GET", "/metrics", answer={"type": "string"}, shapes=("text/plain",)),
    op("POST", "/api/auth/workspace-session", ok=204),
    op("DELETE", "/api/auth/workspace-session", ok=204),
    op("GET", "/api/init", answer=f"{_AUTH}.initialization:InitStatus", errors=(404,)),
    op(
        "POST",
        "/api/init",
        body=f"{_AUTH}.initialization:InitRequest",
        answer=f"{_AUTH}.initialization:InitStatus",
        errors=(400, 404),
    ),
    op(
        "POST",
        "/api/cloud-proxy",
        body=f"{_AUTH}.cloud_proxy:CloudProxyRequest",
        answer={},
        errors=(403, 502, 504),
    ),
)
