from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "agentserver.auth"
    label = "access"  # "auth" is Django's own
    verbose_name = "Access"

    def ready(self) -> None:
        from agentserver.auth import checks  # noqa: F401  (registers them)
