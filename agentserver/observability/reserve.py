"""Some space kept aside, so that on a full disk the end of a run can still be written.

It is a file in the data directory. Whoever has to bring something to rest and finds the disk full
takes it away and tries again; it is made anew when there is plenty of space.
"""

import contextlib
import logging
import os
from pathlib import Path

from agentserver import conf
from agentserver.observability import disk

logger = logging.getLogger(__name__)

SIZE = 2 * 1024 * 1024
"""Bytes: the last events and state of some dozens of conversations."""
PLENTY = 8 * SIZE
"""Bytes free, from which on the reserve is made."""


def _path() -> Path:
    return conf.current().persistence_dir / "reserve"


def keep() -> None:
    """Make the reserve if it is missing and space is plenty. Never raises."""
    with contextlib.suppress(OSError):
        if _path().exists() or disk.free_bytes() < PLENTY:
            return
        with _path().open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, SIZE)
            else:
                file.write(b"\0" * SIZE)


def release() -> bool:
    """Give the reserve to whoever writes next; whether there was one."""
    try:
        _path().unlink()
    except OSError:
        return False
    logger.warning("The disk is full: the reserve of %d MiB is used up now", SIZE >> 20)
    return True
