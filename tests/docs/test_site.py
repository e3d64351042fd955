"""The documentation builds into a site without one warning."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

MKDOCS = Path(sys.executable).with_name("mkdocs")


def build(target):
    built = subprocess.run(
        [MKDOCS, "build", "--strict", "--quiet", "--site-dir", target],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (built.returncode, built.stdout + built.stderr) == (0, "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The directory of the site."""
    target = tmp_path_factory.mktemp("site")
    build(target)
    return target


def test_the_site_builds_without_a_warning_and_holds_the_documents_of_the_root(site):
    assert "One-way flow" in (site / "explanation" / "architecture" / "index.html").read_text()
    assert "0001-the-sdks-file-store" in (site / "decisions" / "index.html").read_text()
    assert (site / "openapi.json").is_file()


def test_the_site_takes_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    loaded = {
        address
        for page in pages
        for address in re.findall(
            r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"?([^\"\s>]+)", page.read_text()
        )
    }

    assert len(pages) > 20
    assert {a for a in loaded if a.startswith(("http:", "https:", "//"))} == set()
    assert not any('class="mermaid"' in page.read_text() for page in pages)  # its script would be fetched


def test_the_site_lists_every_path_of_the_api(site):
    shown = (site / "reference" / "rest" / "index.html").read_text()
    paths = json.loads((ROOT / "docs" / "openapi.json").read_text())["paths"]

    assert [path for path in paths if f"<code>{path}</code>" not in shown] == []
