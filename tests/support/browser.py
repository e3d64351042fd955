"""A headless Chromium for tests that look at pages: Debian's, driven by playwright."""

import contextlib
import shutil

from playwright.sync_api import sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
MISSING = "no Chromium here to open pages with (Debian: apt-get install chromium)"
# Names of other machines lead nowhere, so that a page which would call them shows it here, too.
ARGUMENTS = [
    "--no-sandbox",  # as root Chromium starts only without it; the pages are our own
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]


@contextlib.contextmanager
def chromium():
    """Yields playwright's Browser. Use it in tests that are not coroutines."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()
