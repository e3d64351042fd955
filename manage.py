#!/usr/bin/env python
"""Django's command line in a clone: `manage.py serve`, `migrate`, `prune_bash_events`, ..."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # From any working directory: the project's packages lie beside this file.
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from agentserver.cli import run

    run(sys.argv)
