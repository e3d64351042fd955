"""The page of settings is what conf.py says."""

import importlib.util

from tests.docs.blocks import ROOT


def test_the_committed_page_of_settings_is_current():
    spec = importlib.util.spec_from_file_location("reference", ROOT / ".ci" / "reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)

    written = reference.SETTINGS.read_text()

    assert written == reference.settings_page(), "run: .venv/bin/python .ci/reference.py settings"
    assert "`OH_SESSION_API_KEYS`" in written
