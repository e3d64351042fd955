"""Signing in to a ChatGPT subscription by device code."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Coroutine
from threading import Lock
from typing import Any

from agentserver import conf, sdk
from agentserver.errors import NotFound, Problem

SECONDS = 20
CODE_SECONDS = 15 * 60
PENDING = 64
"""Sign-ins that may be under way at once; the oldest gives way."""

_codes: OrderedDict[str, tuple[float, Any]] = OrderedDict()
_lock = Lock()


class Unreachable(Problem):
    status_code, code = 502, "upstream_unreachable"
    sentence = "OpenAI's sign-in cannot be reached from this server at present. Try again later."


class NoSuchCode(NotFound):
    sentence = "There is no sign-in under way with this device code. Start one first."


def _auth(owner: int | None) -> Any:
    sdk.require()
    from openhands.sdk.llm.auth.credentials import CredentialStore
    from openhands.sdk.llm.auth.openai import OpenAISubscriptionAuth

    if owner is None:
        return OpenAISubscriptionAuth()
    directory = conf.current().persistence_dir / "users" / str(owner) / "auth"
    return OpenAISubscriptionAuth(CredentialStore(directory))


def status(*, owner: int | None) -> dict[str, Any]:
    """The wire's SubscriptionStatusResponse."""
    credentials = _auth(owner).get_credentials()
    return {
        "vendor": "openai",
        "connected": credentials is not None,
        "account_email": None,
        "expires_at": credentials.expires_at // 1000 if credentials else None,
    }


def models() -> dict[str, Any]:
    sdk.require()
    from openhands.sdk.llm.auth.openai import OPENAI_CODEX_MODELS

    return {"vendor": "openai", "models": sorted(OPENAI_CODEX_MODELS)}


def logout(*, owner: int | None) -> dict[str, Any]:
    _auth(owner).logout()
    return status(owner=owner)


def start(*, owner: int | None) -> dict[str, Any]:
    """The wire's SubscriptionDeviceStartResponse. Raises Unreachable (502)."""
    code = _within_limit(_auth(owner).start_device_login())
    expires = int(time.time()) + CODE_SECONDS
    with _lock:
        _codes[code.device_auth_id] = (expires, code)
        while len(_codes) > PENDING:
            _codes.popitem(last=False)
    return {
        "device_code": code.device_auth_id,
        "user_code": code.user_code,
        "verification_uri": code.verification_url,
        "verification_uri_complete": None,
        "expires_at": expires,
        "interval_seconds": int(code.interval),
    }


def poll(*, owner: int | None, device_code: str) -> dict[str, Any]:
    """Ask once whether the person has signed in. Raises NoSuchCode (404), Unreachable (502)."""
    with _lock:
        expires, code = _codes.get(device_code, (0, None))
    if code is None or expires < time.time():
        raise NoSuchCode()
    if _within_limit(_auth(owner).poll_device_login(code)) is not None:
        with _lock:
            _codes.pop(device_code, None)
    return status(owner=owner)


def _within_limit(work: Coroutine[Any, Any, Any]) -> Any:
    async def limited() -> Any:
        async with asyncio.timeout(SECONDS):
            return await work

    try:
        return asyncio.run(limited())
    except Exception as error:
        raise Unreachable() from error
