#!/usr/bin/env python
"""Django's command line: `manage.py serve`, `migrate`, `prune_bash_events`, ..."""

import os
import sys
from pathlib import Path


def main() -> None:
    # From any working directory: the project's packages lie beside this file.
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from agentserver import bootstrap

    bootstrap.prepare(sys.argv)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentserver.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
