"""The agent SDK, imported off the request path: 5 s of CPU and 265 MB, so in the background.

Modules that import ``openhands`` at their top are imported through ``load`` or inside functions
that called ``require`` before.
"""

import functools
import importlib
import logging
import os
import threading
import time
import warnings
from typing import Any

from agentserver import bootstrap, conf, keys, terminals  # bootstrap comes before the SDK
from agentserver.errors import Unavailable
from agentserver.observability import llm_calls, logs

logger = logging.getLogger(__name__)

WAIT_SECONDS = 60
"""How long a request that needs the SDK waits for it at start."""

# Imported at start because the first model call would import them on its event loop: 1 s. Not needed, and
# 0.6 s of CPU saved, where litellm sends what is asked itself.
_PRELOADED = ("openai.resources", "openai.resources.chat.completions", "openai.resources.responses")

_ready = threading.Event()
_lock = threading.Lock()
_failure: BaseException | None = None


def start() -> threading.Thread:
    """Load on a thread of its own; returns it at once."""
    thread = threading.Thread(target=_load_and_log, name="sdk-import", daemon=True)
    thread.start()
    return thread


def load() -> None:
    """Import the SDK, its tools and what the first model call needs. Returns when done."""
    with _lock:
        if _ready.is_set():
            return
        # Else the SDK puts its caches and installed extensions into the home directory.
        os.environ.setdefault("OH_PERSISTENCE_DIR", str(conf.current().persistence_dir.absolute()))
        importlib.import_module("openhands.sdk")
        if conf.current().preload_tools:
            _load_tools()
        if conf.current().runs_conversations and os.environ.get(bootstrap.MODEL_CLIENT) != "true":
            for name in _PRELOADED:
                importlib.import_module(name)
        _quieten()
        llm_calls.install()
        logs.reclaim()
        _ready.set()


@functools.cache
def _load_tools() -> None:
    """Register the agent's tools and sub-agents: at start, or when the SDK is first needed."""
    importlib.import_module("openhands.tools")
    preset = importlib.import_module("openhands.tools.preset.default")
    preset.register_builtins_agents(enable_browser=False)  # browser tools need a browser of their own
    terminals.install()


def _quieten() -> None:
    """Keep two things out of the log that say nothing: once a model call each."""
    warnings.filterwarnings("ignore", message="Cost calculation failed")  # a model without a known price
    # litellm has one logging worker, which moves to the loop that calls it: lanes have one each.
    logging.getLogger("asyncio").addFilter(lambda record: "LoggingWorker" not in record.getMessage())


def ready() -> bool:
    return _ready.is_set()


def failure() -> BaseException | None:
    """Why the import failed, if it did."""
    return _failure


def require() -> None:
    """Wait until the SDK is there. Raises Unavailable (503). Never call on an event loop."""
    if not _ready.is_set():
        _wait_or_load()
    _load_tools()


def _wait_or_load() -> None:
    if threading.current_thread().name.startswith(("request", "waiting")):
        if not _ready.wait(WAIT_SECONDS):
            raise Unavailable()
    else:
        load()


@functools.cache
def cipher() -> Any:
    """The SDK's Cipher with this installation's keys: secrets at rest pass through it."""
    require()
    from openhands.sdk.utils.cipher import Cipher

    return Cipher(keys.installation_key(), [*conf.current().previous_secret_keys, *keys.outgrown()])


def encrypt(text: str) -> str:
    from pydantic import SecretStr

    return cipher().encrypt(SecretStr(text))


def decrypt(token: str) -> str | None:
    """The text, or None if no key of ours opens it."""
    return cipher().try_decrypt_str(token)


def _load_and_log() -> None:
    global _failure
    begin = time.monotonic()
    try:
        load()
    except BaseException as error:
        _failure = error
        logger.exception("The agent SDK cannot be imported; conversations will not run")
        return
    logger.info("Agent SDK loaded in %.1f s", time.monotonic() - begin)
