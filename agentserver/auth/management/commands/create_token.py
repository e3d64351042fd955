"""`agentserver token USER`: an API token for a user, printed once."""

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from agentserver.auth import tokens


class Command(BaseCommand):
    help = "Make an API token for a user and print it; it cannot be shown again."

    def add_arguments(self, parser):
        parser.add_argument(
            "user", help="Name of an account; `agentserver createsuperuser` or the admin makes one"
        )
        parser.add_argument("--name", default="command line", help="What the token is for")

    def handle(self, *args, user, name, **options):
        account = get_user_model().objects.filter(username=user).first()
        if account is None:
            raise CommandError(
                "There is no such account. Make one with `agentserver createsuperuser` or in the admin."
            )
        _, text = tokens.create(user=account, name=name)
        self.stdout.write(text)
