"""The code blocks of a Markdown file, as a reader would type them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    text: str


def blocks_of(name):
    """Every fenced block of the file ``name``, in order."""
    return [Block(*found.groups()) for found in _BLOCK.finditer((ROOT / name).read_text())]
