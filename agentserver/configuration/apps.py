import asyncio

from django.apps import AppConfig


class ConfigurationConfig(AppConfig):
    name = "agentserver.configuration"
    label = "configuration"

    def ready(self) -> None:
        from agentserver import lifespan

        lifespan.on_start("profile stores", _install_stores)


async def _install_stores() -> None:
    """Once the SDK is there, before a conversation is loaded: it asks our tables for profiles."""
    from agentserver import sdk, threads
    from agentserver.configuration import stores

    while not sdk.ready():
        if sdk.failure() is not None:
            return
        await asyncio.sleep(0.1)
    await threads.run_in(threads.requests(), stores.install)
