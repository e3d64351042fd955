from django.apps import AppConfig


class ConfigurationConfig(AppConfig):
    name = "agentserver.configuration"
    label = "configuration"
