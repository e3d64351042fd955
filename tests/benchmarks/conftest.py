"""What the benchmarks share."""

import pytest

from tests.benchmarks.kept import Table


@pytest.fixture(scope="module")
def table():
    """Callable: note a figure; in the end all are printed and kept for docs/performance.md."""
    made = Table()
    yield made
    print("\n" + made.text())
    made.keep()
