"""The published Agent Canvas UI, unmodified, in a browser: what a person sees and clicks.

It is served from another address than the server, so every call crosses origins. Screenshots lie
in the test's temporary directory.
"""

import base64
import contextlib
import hashlib
import json
import subprocess
import tarfile

import httpx
import pytest
from playwright.sync_api import expect

from tests.support import browser
from tests.support.waiting import free_port, wait_until

pytestmark = [
    pytest.mark.skipif(browser.CHROMIUM is None, reason=browser.MISSING),
    pytest.mark.timeout(480),
]

PACKAGE = "@openhands/agent-canvas@1.20.0"
INTEGRITY = "uq28bmdMapsDN0ltp5ZHYm9xfuk7cHktNkd0NY38w/UTq25wJTqSKSPya+2+ky0+HpGX2vmn0uF3mHuNCoOb2w=="
NEEDED = ("package/build/", "package/scripts/")
PROVIDER_KEY = "sk-typed-into-canvas"
PATIENCE = 30_000
"""Milliseconds that the page may take for something to appear."""


@pytest.fixture(scope="module")
def canvas(npm, npm_project):
    """The package's own static server with the UI it ships; its address.

    Not installed but unpacked: the package names dependencies that npm does not have.
    """
    directory = npm_project("canvas")
    packed = directory / json.loads(npm("pack", PACKAGE, "--json", cwd=directory))[0]["filename"]
    assert base64.b64encode(hashlib.sha512(packed.read_bytes()).digest()).decode() == INTEGRITY
    with tarfile.open(packed) as archive:
        needed = [member for member in archive if member.name.startswith(NEEDED)]
        archive.extractall(directory, needed, filter="data")
    with _serving(directory / "package") as url:
        yield url


@contextlib.contextmanager
def _serving(package):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [
        "node",
        "scripts/static-server.mjs",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--dir",
        "build",
    ]
    process = subprocess.Popen([*command, "--disable-telemetry"], cwd=package, stdout=subprocess.DEVNULL)

    def answers():
        assert process.poll() is None, "the static server of Agent Canvas has ended"
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(url).status_code == 200

    try:
        wait_until(answers, message="static server of Agent Canvas")
        yield url
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def page(canvas, server, tmp_path):
    """A browser that has never seen the UI, with it open; closed before the server ends.

    What goes wrong on the page, or in the server, fails the test.
    """
    with browser.chromium() as chromium:
        page = chromium.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(PATIENCE)
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("response", lambda answer: answer.status >= 500 and errors.append(answer.url))
        page.goto(canvas)
        yield page
        page.screenshot(path=tmp_path / "in-the-end.png")
    assert errors == []


def plan(*commands, final):
    """A message that makes the scripted model run ``commands`` in the terminal and then say ``final``."""
    steps = [{"tool": "terminal", "args": {"command": command}} for command in commands]
    return "PLAN " + json.dumps({"steps": [*steps, {"tool": "finish", "args": {"message": final}}]})


def onboard(page, server, llm_url):
    """A person's first visit, until the page asks for the first message."""
    page.get_by_test_id("onboarding-backend-name").fill("Ours")
    page.get_by_test_id("onboarding-backend-host").fill(server.url)
    page.get_by_test_id("onboarding-backend-api-key").fill(server.options["OH_SESSION_API_KEYS_0"])
    page.get_by_test_id("onboarding-backend-next").click()
    page.locator("input[name=analytics]").uncheck()
    page.get_by_test_id("confirm-telemetry-preferences").click()
    page.get_by_test_id("onboarding-agent-next").click()
    page.get_by_test_id("sdk-section-advanced-toggle").click()
    page.get_by_test_id("llm-custom-model-input").fill("openai/fake-model")
    page.get_by_test_id("base-url-input").fill(f"{llm_url}/v1")
    page.get_by_test_id("llm-api-key-input").fill(PROVIDER_KEY)
    page.get_by_test_id("onboarding-llm-next").click()


def shown(page, text):
    """Wait for ``text`` in the chat, by itself: a plan, shown too, contains what the model is to say."""
    said = page.get_by_test_id("chat-interface").get_by_text(text, exact=True)
    expect(said.first).to_be_visible(timeout=PATIENCE)


def test_a_first_visit_ends_in_a_conversation_that_can_be_stopped_resumed_and_found_again(
    page, server, llm_url, tmp_path
):
    onboard(page, server, llm_url)
    message = plan("echo from-$((40+2))-canvas", "sleep 301", final="All of it is done.")
    page.get_by_test_id("onboarding-hello-input").fill(message)
    page.get_by_test_id("onboarding-hello-input-form").get_by_test_id("submit-button").click()
    expect(page.get_by_test_id("live-activity-chip")).to_contain_text("sleep 301", timeout=PATIENCE)
    page.get_by_test_id("right-panel-toggle").click()
    page.get_by_test_id("conversation-tab-terminal").click()
    expect(page.get_by_text("from-42-canvas").first).to_be_visible(timeout=PATIENCE)
    page.screenshot(path=tmp_path / "running.png")

    page.get_by_test_id("stop-button").click()
    expect(page.get_by_test_id("conversation-status-paused")).to_be_visible(timeout=PATIENCE)
    shown(page, "Stopped")
    page.screenshot(path=tmp_path / "stopped.png")

    page.get_by_test_id("play-button").click()
    shown(page, "All of it is done.")

    page.reload()
    shown(page, "All of it is done.")
    shown(page, "1/2 actions completed")
    page.get_by_test_id("chat-input").fill(plan(final="Answered again."))
    page.get_by_test_id("submit-button").click()
    shown(page, "Answered again.")
    page.screenshot(path=tmp_path / "reloaded.png")

    page.get_by_test_id("sidebar-conversations-link").click()
    page.get_by_test_id("conversation-card").click()
    shown(page, "Answered again.")
    asked = httpx.get(f"{llm_url}/requests", params={"contains": "-canvas"}).json()
    assert {request["authorization"] for request in asked} == {f"Bearer {PROVIDER_KEY}"}
