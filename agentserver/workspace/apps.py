"""The workspace app: files, git and editors of what agents work on."""

import asyncio

from django.apps import AppConfig


class WorkspaceConfig(AppConfig):
    name = "agentserver.workspace"
    label = "workspace"

    def ready(self) -> None:
        from agentserver import lifespan
        from agentserver.workspace import editor

        async def stop_editor() -> None:
            await asyncio.to_thread(editor.current.stop)

        lifespan.on_stop("editor", stop_editor)
