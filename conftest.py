"""What every test of the repository starts from: Hypothesis without a clock.

Hypothesis fails a test whose example takes longer than 200 ms, by the wall clock. That finds nothing here, where time
is virtual, and fails a good test on a busy machine.
"""

from hypothesis import settings

pytest_plugins = ["pytester"]  # tests of the plugins run a pytest of their own

settings.register_profile("groupspec", deadline=None, print_blob=True)
settings.register_profile("thorough", settings.get_profile("groupspec"), max_examples=1_500)  # `make coverage`
settings.load_profile("groupspec")
