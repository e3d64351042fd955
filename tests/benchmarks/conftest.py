import pytest


@pytest.fixture(scope="module")
def table():
    """Callable: note a measurement; the table is printed in the end."""
    rows = []
    yield lambda what, value, wanted="-": rows.append((what, value, wanted))
    width = max(len(what) for what, *_ in rows)
    print("\n" + "\n".join(f"{what:<{width}}  {value:>12}  wanted {wanted}" for what, value, wanted in rows))
