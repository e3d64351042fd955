"""The contract suite once more, against two web processes and two runners."""

import os
import subprocess
import sys

import pytest

from tests.engines.test_other_engines import ROOT

# What a second process could change; the rest is the same code in each web process.
FILES = ("smoke", "run_control", "sockets", "events")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_contract_holds_for_a_cluster(scaled, llm_url):
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *(f"tests/contract/test_{name}.py" for name in FILES)],
        cwd=ROOT,
        env={**os.environ, "AGENT_SERVER_URL": scaled.url, "FAKE_LLM_URL": llm_url},
        capture_output=True,
        text=True,
        timeout=880,
    )

    print(run.stdout[-2000:])
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
