"""What every test of the repository starts from: Hypothesis without a clock; and what some ask for.

Hypothesis fails a test whose example takes longer than 200 ms, by the wall clock. That finds nothing here, where time
is virtual, and fails a good test on a busy machine.
"""

import pytest
from hypothesis import settings

pytest_plugins = ["pytester"]  # tests of the plugins run a pytest of their own

settings.register_profile("groupspec", deadline=None, print_blob=True)
settings.register_profile("thorough", settings.get_profile("groupspec"), max_examples=1_500)  # `make coverage`
settings.load_profile("groupspec")


@pytest.fixture
def quick_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests whose models the C compiler needs longer for than their exploration."""
    monkeypatch.setattr("groupspec.spec.explorer.native.OPTIMISE", "-O0")
