"""The contract suite once more, against two web processes and two runners: what more processes could change.

The rest of it is the same code in each web process; ``WHOLE_CONTRACT`` asks for it as well, which takes ten
minutes more.
"""

import os

import pytest

FILES = ("smoke", "run_control", "sockets", "events")
SECONDS = 900


@pytest.mark.slow
@pytest.mark.timeout(SECONDS)
def test_the_contract_of_runs_and_sockets_holds_for_a_cluster(contract):
    contract([f"tests/contract/test_{name}.py" for name in FILES], SECONDS - 20)


@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.skipif("WHOLE_CONTRACT" not in os.environ, reason="WHOLE_CONTRACT is not set: it takes long")
def test_the_rest_of_the_contract_holds_for_a_cluster(contract):
    left = [option for name in FILES for option in ("--ignore", f"tests/contract/test_{name}.py")]
    contract(["tests/contract", *left], 2 * SECONDS - 20)
