"""The code blocks of a Markdown file, as a reader would type them."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    text: str


def blocks_of(name, *languages):
    """Every fenced block of the file ``name``, in order; of ``languages`` alone, where any are given."""
    found = _BLOCK.finditer((ROOT / name).read_text())
    blocks = [Block(one[2], textwrap.dedent(one[3])) for one in found]
    return [block for block in blocks if not languages or block.language in languages]
