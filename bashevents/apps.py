from django.apps import AppConfig


class BashEventsConfig(AppConfig):
    name = "bashevents"
    verbose_name = "Bash events"

    def ready(self) -> None:
        from django.db.models.signals import post_delete

        from bashevents import lifecycle
        from conversations import signals
        from conversations.models import Conversation

        lifecycle.register()
        post_delete.connect(lifecycle.follow_conversation, sender=Conversation)
        signals.leaving.connect(lifecycle.follow_deletion)
