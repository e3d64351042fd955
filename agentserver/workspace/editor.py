"""The browser editor, where one is installed: found on PATH, started when first asked for, ended with us."""

import os
import secrets
import shutil
import signal
import subprocess
import threading
from contextlib import suppress
from urllib.parse import quote

from agentserver import conf
from agentserver.environment import child_environment
from agentserver.errors import Problem

PROGRAMS = ("openvscode-server", "code-server")


class Disabled(Problem):
    status_code, code = 503, "editor_disabled"
    sentence = "The editor is switched off. Set OH_ENABLE_VSCODE=true and start the server again."


class Editor:
    """One editor process. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self.token = secrets.token_urlsafe(24)

    def program(self) -> str | None:
        """The path of the installed editor, if there is one."""
        return next((found for name in PROGRAMS if (found := shutil.which(name))), None)

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> bool:
        """Whether an editor runs now. Raises nothing where none is installed."""
        with self._lock:
            program = self.program()
            if not self.running() and program:
                self._process = self._spawn(program)
            return self.running()

    def stop(self) -> None:
        """End the editor and its children. Waits 3 s at most."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(3)

    def url(self, base: str | None, directory: str) -> str:
        """Where a browser finds it: ``base``, else this machine."""
        address = (base or f"http://localhost:{conf.current().vscode_port}").rstrip("/")
        folder = quote(directory, safe="/")
        key = f"tkn={quote(self.token)}&" if self._takes_token() else ""
        return f"{address}/?{key}folder={folder}"

    def _takes_token(self) -> bool:
        return (self.program() or "").endswith(PROGRAMS[0])

    def _spawn(self, program: str) -> subprocess.Popen[bytes]:
        port = conf.current().vscode_port
        keys = conf.current().session_api_keys
        if program.endswith(PROGRAMS[0]):
            options = ["--host", "0.0.0.0", "--port", str(port), "--connection-token", self.token]  # noqa: S104
        else:  # code-server knows no token: it asks for a session key, or stays on this machine
            host = "0.0.0.0" if keys else "127.0.0.1"  # noqa: S104
            options = ["--bind-addr", f"{host}:{port}", "--auth", "password" if keys else "none"]
        environment = child_environment()
        if keys:
            environment["PASSWORD"] = keys[0]
        return subprocess.Popen(
            [program, *options],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


current = Editor()


def status() -> dict[str, bool | str]:
    """What is so, in the wire's form."""
    if not conf.current().enable_vscode:
        return {"running": False, "enabled": False, "message": Disabled.sentence}
    if current.running():
        return {"running": True, "enabled": True, "message": "The editor is running."}
    if current.program() is None:
        message = f"No editor is installed: neither {' nor '.join(PROGRAMS)} is on PATH."
    else:
        message = "The editor starts when its address is asked for."
    return {"running": False, "enabled": True, "message": message}


def url(base: str | None, directory: str) -> str | None:
    """The editor's address for ``directory``, started if need be; None if none is installed.

    Raises Disabled (503).
    """
    if not conf.current().enable_vscode:
        raise Disabled()
    return current.url(base, directory) if current.start() else None
