"""Write conversations in the layout of the reference server, for it or for this server to read."""

import uuid
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from agentserver import sdk
from agentserver.workspace import bashfiles
from conversations import exchange
from conversations.masks import Masker
from conversations.models import Conversation


class Command(BaseCommand):
    help = (
        "Write conversations to DIR/conversations/<id>/ as the reference server keeps them: base_state.json, "
        "meta.json, events/event-NNNNN-ID.json. Secrets stay encrypted with OH_SECRET_KEY."
    )

    def add_arguments(self, parser):
        parser.add_argument(
            "id", nargs="*", type=uuid.UUID, help="ids of conversations, with or without dashes"
        )
        parser.add_argument("--all", action="store_true", help="every conversation")
        parser.add_argument("--to", type=Path, default=Path("export"), metavar="DIR", help="default: export")
        parser.add_argument("--masked", action="store_true", help="without secrets, to be shown to others")
        parser.add_argument("--bash-events", action="store_true", help="bash events too, to DIR/bash_events")

    def handle(self, **options):
        rows = self._rows(options["id"], options["all"])
        if not options["id"] and not options["all"] and not options["bash_events"]:
            raise CommandError("Name conversations, or use --all or --bash-events.")
        sdk.require()
        for row in rows:
            self._export(row, options["to"] / "conversations", options["masked"])
        if options["bash_events"]:
            self._export_bash_events(options["to"] / "bash_events")

    def _rows(self, ids, everything):
        rows = Conversation.objects.living().order_by("created_at")
        if everything:
            return rows.iterator(chunk_size=10)
        found = {row.id: row for row in rows.filter(id__in=ids)}
        for missing in [i for i in ids if i not in found]:
            raise CommandError(f"There is no conversation {missing}.")
        return [found[i] for i in dict.fromkeys(ids)]

    def _export(self, row, directory, masked):
        from conversations.building import persistence_dir

        change = Masker([row.base_state, row.request]).masked if masked else None
        try:
            target = exchange.write(row, directory, Path(persistence_dir()), change)
        except FileExistsError:
            raise CommandError(f"{directory / row.id.hex} is there already. Choose another --to.") from None
        self.stdout.write(f"{target}  {row.next_sequence} events")

    def _export_bash_events(self, directory):
        try:
            count = bashfiles.write(directory)
        except FileExistsError:
            raise CommandError(f"{directory} is there already. Choose another --to.") from None
        self.stdout.write(f"{directory}  {count} bash events")
