"""Where installed extensions of each owner live, below the data directory."""

from pathlib import Path

from agentserver import conf


def installed(owner: int | None, kind: str) -> Path:
    """The directory of installed ``kind`` (skills, plugins, ...); the operator's is the SDK's own."""
    base = conf.current().persistence_dir
    if owner is not None:
        base = base / "users" / str(owner)
    return base / kind / "installed"
