from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    name = "conversations"

    def ready(self) -> None:
        from agentserver import lifespan
        from conversations import checks, recovery  # noqa: F401  (checks register themselves)

        lifespan.on_start("recovery of conversations", recovery.start)
        lifespan.on_stop("running conversations", recovery.stop)
