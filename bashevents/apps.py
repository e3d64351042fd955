from django.apps import AppConfig


class BashEventsConfig(AppConfig):
    name = "bashevents"
    verbose_name = "Bash events"
