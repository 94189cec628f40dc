"""What every test of the repository starts from: Hypothesis without a clock, and who runs beside whom.

Hypothesis fails a test whose example takes longer than 200 ms, by the wall clock. That finds nothing here, where time
is virtual, and fails a good test on a busy machine.

`make test` runs one worker for each processor. The tests of a file stay together, because they share what is costly to
make; those with real clocks, sockets or Spark run one after the other, so that they don't disturb each other.
"""

import pytest
from hypothesis import settings

settings.register_profile("groupspec", deadline=None, print_blob=True)
settings.load_profile("groupspec")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tells xdist which tests go to the same worker."""
    for item in items:
        alone = any(item.get_closest_marker(name) for name in ("realtime", "spark"))
        item.add_marker(pytest.mark.xdist_group("one at a time" if alone else str(item.path)))
