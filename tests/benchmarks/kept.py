"""Where the figures of a benchmark run go: printed, and kept in docs/performance/own.json.

A run replaces what it measured and leaves the rest; ``.ci/performance.py`` makes the page of it.
"""

import json
import os
import platform
import time
from importlib import metadata
from pathlib import Path

import django
import psutil

FILE = Path(__file__).resolve().parents[2] / "docs" / "performance" / "own.json"


class Table:
    """The figures of one module: single ones with what is wanted, and those that grow with a size."""

    def __init__(self):
        self.single, self.growing = {}, {}

    def __call__(self, what, value, wanted="-"):
        self.single[what] = [str(value), wanted]

    def at(self, what, size, value):
        """``value`` is in milliseconds."""
        self.growing.setdefault(what, {})[str(size)] = round(value, 3)

    def text(self):
        width = max((len(what) for what in (*self.single, *self.growing)), default=0)
        lines = [
            f"{what:<{width}}  {value:>12}  wanted {wanted}" for what, (value, wanted) in self.single.items()
        ]
        for what, values in self.growing.items():
            shown = "   ".join(f"{int(size):,}: {value:.2f} ms" for size, value in values.items())
            lines.append(f"{what:<{width}}  {shown}")
        return "\n".join(lines)

    def keep(self):
        """Write them into the file, beside what other runs measured there."""
        FILE.parent.mkdir(exist_ok=True)
        kept = json.loads(FILE.read_text()) if FILE.exists() else {"single": {}, "growing": {}}
        kept["machine"] = machine()
        kept["single"] |= self.single
        kept["growing"] |= self.growing
        FILE.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def machine():
    """On what it was measured, and how busy that was at the end."""
    return {
        "day": time.strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "memory": f"{psutil.virtual_memory().total >> 30} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "django": django.get_version(),
        "sdk": metadata.version("openhands-sdk"),
        "load": round(os.getloadavg()[0], 1),
    }
