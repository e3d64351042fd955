"""What an archive leaves out: patterns for names, for paths and for directories."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

DEFAULT = (
    ".git/", "node_modules/", ".venv/", "venv/", "__pycache__/", ".mypy_cache/", ".pytest_cache/",
    ".ruff_cache/", "dist/", "build/", ".next/", "target/", "*.pyc",
)  # fmt: skip


def matches(patterns: Sequence[str], path: str, *, is_directory: bool) -> bool:
    """Whether ``path`` (relative, with slashes) is left out. ``name/`` means directories alone."""
    name = path.rpartition("/")[2]
    for pattern in patterns:
        if pattern.endswith("/") and not is_directory:
            continue
        wanted = pattern.rstrip("/")
        if fnmatchcase(path if "/" in wanted else name, wanted):
            return True
    return False


def pathspecs(patterns: Sequence[str]) -> list[str]:
    """The same patterns in git's language, for a command that runs in the archived directory."""
    specs = []
    for pattern in patterns:
        wanted = pattern.rstrip("/")
        anywhere = wanted if "/" in wanted else f"**/{wanted}"
        specs.append(f":(exclude,glob){anywhere}/**")
        if not pattern.endswith("/"):
            specs.append(f":(exclude,glob){anywhere}")
    return specs
