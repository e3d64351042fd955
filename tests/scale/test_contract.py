"""The contract suite once more, against two web processes and two runners.

``WHOLE_CONTRACT``: all of it, which takes ten minutes more.
"""

import os
import subprocess
import sys

import pytest

from tests.engines.test_other_engines import ROOT

# What a second process could change; the rest is the same code in each web process.
FILES = ("smoke", "run_control", "sockets", "events")
EVERYTHING = "WHOLE_CONTRACT" in os.environ
SECONDS = 3600 if EVERYTHING else 900


@pytest.mark.slow
@pytest.mark.timeout(SECONDS)
def test_the_contract_holds_for_a_cluster(scaled, llm_url):
    chosen = ["tests/contract"] if EVERYTHING else [f"tests/contract/test_{name}.py" for name in FILES]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *chosen],
        cwd=ROOT,
        env={**os.environ, "AGENT_SERVER_URL": scaled.url, "FAKE_LLM_URL": llm_url},
        capture_output=True,
        text=True,
        timeout=SECONDS - 20,
    )

    print(run.stdout[-2000:])
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
