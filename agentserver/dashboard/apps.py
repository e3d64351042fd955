from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "agentserver.dashboard"
    label = "dashboard"
    verbose_name = "Dashboard"

    def ready(self) -> None:
        from agentserver.dashboard import samples

        samples.register()
