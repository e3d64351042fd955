"""`agentserver doctor`: what is here, what is missing, and what to do about it."""

import sys

from django.core.management.base import BaseCommand

from agentserver.observability import doctor
from agentserver.observability.masking import masked


class Command(BaseCommand):
    help = "Look at this installation without serving; the exit code is 1 if something must be mended."
    requires_system_checks = []

    def handle(self, **options):
        bad = 0
        for finding in doctor.findings():
            bad += finding.level == "bad"
            self.stdout.write(f"{finding.level:<5}{finding.part:<11}{masked(finding.says)}")
            self.stdout.flush()
        if bad:
            sys.exit(1)
