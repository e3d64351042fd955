"""The secret keys of this installation: given, or made once and kept in the data directory."""

import hashlib
import os
import secrets
from pathlib import Path

from agentserver import conf


def installation_key() -> str:
    """``OH_SECRET_KEY``, else a key made once and kept in the data directory with mode 600."""
    return conf.current().secret_key or _kept(_path())


def outgrown() -> list[str]:
    """The key this installation made before ``OH_SECRET_KEY`` was set: it still opens what it sealed."""
    path = _path()
    if not conf.current().secret_key or not path.exists():
        return []
    return [path.read_text().strip()]


def _path() -> Path:
    return conf.current().persistence_dir / "secret_key"


def django_secret_key() -> str:
    """Signs sessions and tokens; derived, so that one key is to be kept."""
    return hashlib.sha256(f"django:{installation_key()}".encode()).hexdigest()


def _kept(path: Path) -> str:
    """The key in ``path``; made if missing, once even when two processes start together."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        pass
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_urlsafe(32))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)  # fails if another process was first
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text().strip()
