"""The documentation builds into a site without one warning."""

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT

MKDOCS = Path(sys.executable).with_name("mkdocs")


def test_the_site_builds_without_a_warning_and_holds_the_documents_of_the_root(tmp_path):
    built = subprocess.run(
        [MKDOCS, "build", "--strict", "--quiet", "--site-dir", tmp_path],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    assert "One-way flow" in (tmp_path / "explanation" / "architecture" / "index.html").read_text()
    assert "0001-the-sdks-file-store" in (tmp_path / "decisions" / "index.html").read_text()
    assert (tmp_path / "openapi.json").is_file()
