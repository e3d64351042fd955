from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "agentserver.webhooks"
    label = "webhooks"

    def ready(self) -> None:
        from agentserver.webhooks import lifecycle, observed

        lifecycle.register()
        observed.register()
