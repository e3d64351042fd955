"""All operations, room by room."""

from agentserver.openapi.operations import (
    bash,
    catalog,
    configuration,
    conversations,
    server,
    webhooks,
    workspace,
)

OPERATIONS = (
    *server.OPERATIONS,
    *conversations.OPERATIONS,
    *bash.OPERATIONS,
    *workspace.OPERATIONS,
    *configuration.OPERATIONS,
    *catalog.OPERATIONS,
    *webhooks.OPERATIONS,
)
