"""The scripted model as a process: ``fakellm.py`` on a free port."""

import contextlib
import subprocess
import sys
from pathlib import Path

import httpx

from tests.support.waiting import free_port, wait_until

SCRIPT = Path(__file__).with_name("fakellm.py")


@contextlib.contextmanager
def scripted_model():
    """Yields its base URL, without ``/v1``."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([sys.executable, str(SCRIPT), "--port", str(port)])

    def ready():
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{url}/stats").status_code == 200

    try:
        wait_until(ready, message="scripted model")
        yield url
    finally:
        process.terminate()
        process.wait(10)
