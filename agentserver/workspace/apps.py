"""The workspace app: files, git and editors of what agents work on."""

from django.apps import AppConfig


class WorkspaceConfig(AppConfig):
    name = "agentserver.workspace"
    label = "workspace"
