from django.apps import AppConfig


class AgentServerConfig(AppConfig):
    name = "agentserver"
    verbose_name = "Agent server"
