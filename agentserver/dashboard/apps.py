from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "agentserver.dashboard"
    label = "dashboard"
    verbose_name = "Dashboard"
