"""Every test of this folder runs with both threading designs, unless its module names its own (`DESIGNS`)."""

from __future__ import annotations

import pytest

from groupspec.impl.threads.designs import DESIGNS, Design
from groupspec.impl.threads.tests.scripted_consumer import ScriptedConsumer


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run for each design."""
    if "design" in metafunc.fixturenames:
        metafunc.parametrize("design", getattr(metafunc.module, "DESIGNS", list(DESIGNS)), indirect=True)


@pytest.fixture(autouse=True)
def design(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Design:
    """The design of this run, which is that of every scripted consumer in it."""
    chosen: Design = request.param
    monkeypatch.setattr(ScriptedConsumer, "default_design", chosen)
    return chosen
