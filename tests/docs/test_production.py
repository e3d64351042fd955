"""The production settings of docs/security.md are all that Django's deployment check asks for."""

import os
import subprocess
import sys

import pytest

from tests.docs.blocks import ROOT, blocks_of
from tests.support.server import NOT_INHERITED

_, SETTINGS = [block.text for block in blocks_of("docs/security.md", "ini")]
SEEN = blocks_of("docs/security.md", "console")[-1].text
DOCUMENTED = dict(line.split("=", 1) for line in SETTINGS.splitlines())


@pytest.fixture
def check(tmp_path):
    """Callable: what ``manage.py check --deploy`` says with these settings, and its exit code."""

    def _check(settings):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("OH_") and k not in NOT_INHERITED}
        command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
        environment = {**kept, "OH_PERSISTENCE_DIR": str(tmp_path), **settings}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    return _check


def test_the_deployment_check_finds_nothing_with_the_documented_settings(check):
    _, promised = SEEN.split("\n", 1)

    assert check(DOCUMENTED) == (0, promised)


def test_the_deployment_check_names_every_setting_that_is_missing(check):
    code, said = check({})

    assert code == 1
    assert [name for name in DOCUMENTED if name not in said] == []
