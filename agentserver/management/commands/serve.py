"""`manage.py serve` as Django shows it; manage.py itself takes the quicker way, see ``serving``."""

from django.core.management.base import BaseCommand, CommandError

from agentserver import conf, serving


class Command(BaseCommand):
    help = "Serve REST and WebSockets in the foreground; migrates by itself on SQLite."
    requires_system_checks = []

    def add_arguments(self, parser):
        serving.add_arguments(parser)

    def handle(self, *args, host, port, insecure, no_runner, **options):
        try:
            serving.serve(host=host, port=port, insecure=insecure, no_runner=no_runner)
        except conf.ConfigurationError as error:
            raise CommandError(str(error)) from None
