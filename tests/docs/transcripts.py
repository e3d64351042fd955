"""Console blocks of the documents: what is typed after `$ `, and what is then seen.

`…` and `...` stand for anything, and white space for any other.
"""

import re
from dataclasses import dataclass

MARK = "--- exit code of a step: "


@dataclass
class Step:
    command: str
    promised: str
    seen: str = ""
    code: int | None = None

    def __str__(self):
        return f"$ {self.command}\nwas to show:\n{self.promised}\nbut showed ({self.code}):\n{self.seen}"

    def kept(self):
        """Whether what was seen is what the document promises; nothing promised, anything may be seen."""
        anything = re.split(r" ?(?:…|\.\.\.) ?", " ".join(self.promised.split()))
        pattern = ".*".join(re.escape(part) for part in anything)
        return not self.promised or re.fullmatch(pattern, " ".join(self.seen.split())) is not None


def steps_of(text):
    """The steps of a block; a command goes on in the next line, indented, after a backslash."""
    found = re.finditer(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
    return [Step(one[1], one[2].strip()) for one in found]


def script_of(steps):
    """A text for bash that takes all steps in one session and says after each how it ended."""
    return "set +e\n" + "".join(f"{step.command}\nprintf '\\n{MARK}%s\\n' $?\n" for step in steps)


def read(steps, output):
    """Give each step what was seen of it in the output of the script."""
    parts = re.split(rf"\n{MARK}(\d+)\n", output)
    for step, seen, code in zip(steps, parts[::2], parts[1::2], strict=False):
        step.seen, step.code = seen, int(code)
