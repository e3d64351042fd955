"""The disk that the data directory is on: how much is free, and whether an error says it is full."""

import errno
import shutil

from agentserver import conf
from agentserver.causes import causes
from agentserver.observability import metrics

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}
_SQLITE_FULL = "database or disk is full"
_POSTGRESQL_DISK_FULL = "53100"
# SQLite says so where it cannot even note that the disk is full, in its shared-memory file.
_SQLITE_IO = "disk I/O error"
LEFT = 1024 * 1024
"""Bytes free, below which an I/O error of SQLite is taken to be about space."""


def free_bytes() -> int:
    """Free space for the data directory; 0 where nobody can say."""
    try:
        return shutil.disk_usage(conf.current().persistence_dir).free
    except OSError:
        return 0


def is_full(error: BaseException) -> bool:
    """Whether ``error``, or what caused it, is that there is no space left."""
    return any(_says_full(one) for one in causes(error))


def _says_full(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        return True
    if getattr(error, "sqlstate", None) == _POSTGRESQL_DISK_FULL:
        return True
    text = str(error)
    return _SQLITE_FULL in text or (_SQLITE_IO in text and free_bytes() < LEFT)


metrics.DISK_FREE.set_function(free_bytes)
