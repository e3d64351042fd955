"""Signing in to an MCP server: a job that waits for the person's browser, and what came of it.

Jobs live in memory: they are a minute or two of one person's work, and hold tokens.
"""

import asyncio
import threading
import time
import uuid
from collections import OrderedDict
from typing import Any
from urllib.parse import parse_qs, urlsplit

from agentserver.catalog import mcp
from agentserver.catalog.mcp_tokens import TokenStorage
from agentserver.errors import Conflict, NotFound, Problem, invalid

LIFE_SECONDS = 600
"""How long a person has to sign in."""
JOBS = 32
"""Jobs kept at once; more are refused while so many are under way."""


class NotAsked(Problem):
    code = "no_oauth"
    sentence = "Signing in is for remote MCP servers whose auth.strategy is oauth2."


class NoSuchJob(NotFound):
    sentence = "There is no sign-in with this id, or it is over."


class TooManyJobs(Conflict):
    sentence = "Too many sign-ins are under way. Finish one, or wait some minutes."


class Job:
    """One sign-in: a thread connects; it waits in ``code`` until the callback's address has come."""

    def __init__(self, owner: int | None, wanted: Any, server: Any):
        self.id, self.owner, self.wanted, self.server = uuid.uuid4().hex, owner, wanted, server
        self.began = time.monotonic()
        self.status = "pending"
        self.authorization_url: str | None = None
        self.answer: dict[str, Any] = {}
        self.storage = TokenStorage(server.initial_oauth_state())
        self.changed = threading.Event()
        self._called = threading.Event()
        self._code: tuple[str, str | None] = ("", None)
        self._thread = threading.Thread(target=self._work, name=f"mcp-oauth-{self.id[:8]}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def over(self) -> bool:
        return self.status in ("succeeded", "failed")

    @property
    def expired(self) -> bool:
        return time.monotonic() - self.began > LIFE_SECONDS

    def _work(self) -> None:
        try:
            self.answer = mcp.tried(
                server=self.server,
                name=self.wanted.name,
                timeout=LIFE_SECONDS,
                call=self.wanted.tool_call,
                mcp_oauth_token_storage=self.storage,
                mcp_oauth_class=_interactive(self),
            )
        except Exception as error:
            self.answer = mcp.failure(error, self.server)
        self.status = "succeeded" if self.answer["ok"] else "failed"
        self.changed.set()

    def ask(self, authorization_url: str) -> None:
        self.authorization_url, self.status = authorization_url, "authorizing"
        self.changed.set()

    def call_back(self, code: str, state: str | None) -> None:
        self._code = (code, state)
        self.changed.clear()
        self._called.set()

    async def code(self) -> tuple[str, str | None]:
        while not self._called.is_set():
            if self.expired:
                raise TimeoutError("Nobody signed in in time")
            await asyncio.sleep(0.1)
        return self._code


def _interactive(job: Job) -> type:
    """The SDK's OAuth client, with the person's own browser in place of one on this machine."""
    from openhands.sdk.mcp.oauth import MCPOAuth

    class BrowserOAuth(MCPOAuth):
        async def redirect_handler(self, authorization_url: str) -> None:
            job.ask(authorization_url)

        async def callback_handler(self) -> tuple[str, str | None]:
            return await job.code()

    return BrowserOAuth


_jobs: OrderedDict[str, Job] = OrderedDict()
_lock = threading.Lock()


def start(*, owner: int | None, wanted: Any) -> dict[str, Any]:
    """Begin; the address to open, or why there is none. The wire's MCPOAuthStartResponse.

    Raises NotAsked (400), TooManyJobs (409), Invalid (422).
    """
    server = mcp.parsed(wanted.server)
    if server.command or server.oauth_auth is None:
        raise NotAsked()
    job = _kept(Job(owner, wanted, server))
    job.start()
    job.changed.wait(wanted.timeout)
    if job.status == "failed":
        return {"ok": False, "job_id": job.id, "authorization_url": None, **_errors(job)}
    return {
        "ok": True,
        "job_id": job.id,
        "authorization_url": job.authorization_url,
        "error": None,
        "error_kind": None,
    }


def _kept(job: Job) -> Job:
    with _lock:
        for old in [each.id for each in _jobs.values() if each.expired]:
            del _jobs[old]
        finished = [each.id for each in _jobs.values() if each.over]
        if len(_jobs) >= JOBS and finished:
            del _jobs[finished[0]]
        if len(_jobs) >= JOBS:
            raise TooManyJobs()
        _jobs[job.id] = job
        return job


def _errors(job: Job) -> dict[str, Any]:
    return {"error": job.answer.get("error"), "error_kind": job.answer.get("error_kind")}


def status(*, owner: int | None, job_id: str) -> dict[str, Any]:
    """The wire's MCPOAuthStatusResponse. Raises NoSuchJob (404)."""
    return _view(_job(owner, job_id))


def call_back(*, owner: int | None, job_id: str, callback_url: str) -> dict[str, Any]:
    """The address to which the person's browser was sent. Raises NoSuchJob (404), Invalid (422)."""
    job = _job(owner, job_id)
    query = parse_qs(urlsplit(callback_url).query)
    code = query.get("code", [""])[0]
    if not code:
        raise invalid(
            ["body", "callback_url"], "The address has no code: the sign-in was refused or is not over."
        )
    if not job.over:
        job.call_back(code, query.get("state", [None])[0])
        job.changed.wait(job.wanted.timeout)
    return _view(job)


def _job(owner: int | None, job_id: str) -> Job:
    with _lock:
        job = _jobs.get(job_id)
    if job is None or job.owner != owner or job.expired:
        raise NoSuchJob()
    return job


def _view(job: Job) -> dict[str, Any]:
    return {
        "job_id": job.id,
        "ok": job.status != "failed",
        "status": job.status,
        "authorization_url": job.authorization_url,
        "callback_ready": job.status == "authorizing",
        "tools": job.answer.get("tools"),
        "tool_result": job.answer.get("tool_result"),
        "oauth_state": job.storage.for_client() if job.status == "succeeded" else None,
        **_errors(job),
    }
