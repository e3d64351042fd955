"""Read conversations and bash events that a reference server wrote."""

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from agentserver import sdk
from agentserver.workspace import bashfiles
from conversations import exchange
from conversations.masks import sealed_for_others
from conversations.models import Status


class Command(BaseCommand):
    help = (
        "Import from DIR: the reference server's workspace directory, its conversations directory, or one "
        "conversation's directory. Give this server the reference's OH_SECRET_KEY, and import while it is "
        "stopped. What is here already is left as it is."
    )

    def add_arguments(self, parser):
        parser.add_argument("directory", type=Path, metavar="DIR")

    def handle(self, **options):
        directory = options["directory"]
        found, bash_events = _conversations(directory), directory / "bash_events"
        if not found and not bash_events.is_dir():
            raise CommandError(f"There is no conversation and no bash event in {directory}.")
        sdk.require()
        failures = sum(not self._import(path) for path in found)
        if bash_events.is_dir():
            failures += not self._import_bash_events(bash_events)
        if failures:
            raise CommandError(f"{failures} could not be imported; the others are here.")

    def _import(self, path):
        from conversations.building import persistence_dir

        try:
            row = exchange.read(path, Path(persistence_dir()))
        except exchange.Unusable as reason:
            self.stderr.write(f"{path.name}: {reason}")
            return isinstance(reason, exchange.AlreadyHere)
        self.stdout.write(f"{row.id}  {row.next_sequence} events  {row.title or ''}".rstrip())
        if sealed_for_others([row.base_state, row.request]):
            self.stderr.write(
                f"{path.name}: some secrets cannot be opened; is OH_SECRET_KEY the reference's?"
            )
        if row.status == Status.RUNNING:
            self.stdout.write("  It was running; the next start of the server brings it to rest.")
        return True

    def _import_bash_events(self, directory):
        try:
            count = bashfiles.read(directory)
        except exchange.Unusable as reason:
            self.stderr.write(str(reason))
            return False
        self.stdout.write(f"{count} bash events")
        return True


def _conversations(directory):
    """The directories of conversations at, in or below ``directory``, in order of their names."""
    if (directory / exchange.BASE_STATE).is_file():
        return [directory]
    for place in (directory, directory / "conversations"):
        if place.is_dir() and (found := sorted(p.parent for p in place.glob(f"*/{exchange.BASE_STATE}"))):
            return found
    return []
