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
    from agentserver import conf

    try:
        _run(sys.argv)
    except conf.ConfigurationError as error:
        sys.exit(str(error))


def _run(argv: list[str]) -> None:
    if argv[1:2] == ["serve"]:
        # The long way through Django's command line would import all of it before listening.
        from agentserver import serving

        if serving.main(argv[2:]):
            return
    from django.core.management import execute_from_command_line

    execute_from_command_line(argv)


if __name__ == "__main__":
    main()
