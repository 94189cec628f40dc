"""What users import: small, documented, and tried as the docstrings show it."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

import groupspec.conformance
import groupspec.impl
import groupspec.spec
import groupspec.spec.api
from groupspec.conformance.pytest_plugin import vector_runs
from groupspec.conformance.tests.repository import ROOT

PACKAGES = (groupspec.spec, groupspec.impl, groupspec.conformance)
NAMES = [(package.__name__, name) for package in PACKAGES for name in package.__all__]


@pytest.mark.parametrize(("package", "name"), NAMES, ids=[f"{package}.{name}" for package, name in NAMES])
def test_every_public_name_is_there_and_says_what_it_is(package: str, name: str) -> None:
    there = getattr(import_module(package), name)
    assert not callable(there) or inspect.getdoc(there)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: str(package.__name__))
def test_every_package_says_its_version_and_refuses_other_names(package: object) -> None:
    assert getattr(package, "__version__") == version("groupspec")  # noqa: B009  # it is looked up when asked for
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(package, "nothing")  # noqa: B009


@pytest.mark.realtime
@pytest.mark.parametrize(
    "module", [groupspec.spec, groupspec.spec.api, groupspec.conformance], ids=lambda module: str(module.__name__)
)
def test_the_examples_of_the_docstrings_are_so(module: object) -> None:
    tried = doctest.testmod(module)  # type: ignore[arg-type]  # a module
    assert tried.attempted > 0
    assert tried.failed == 0


def test_the_readmes_example_is_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False, encoding="utf-8")
    assert tried.attempted == 8
    assert tried.failed == 0


def test_rebalances_are_explained_and_vectors_read_as_by_the_commands() -> None:
    log = ROOT / "conformance" / "traces" / "captures" / "01-join-leave" / "broker.log"
    answer = groupspec.conformance.explain_rebalances("g1", log)
    assert answer.explanation.rebalances
    assert not groupspec.conformance.check_traces(ROOT / "conformance/traces/samples/eager_pair.ndjson").violations
    [member, *_] = (file for file in groupspec.conformance.vector_files() if file.name.startswith("member.eager"))
    assert groupspec.conformance.read_vectors(member).pairs


THE_KIT = """
import pytest

@pytest.mark.groupspec("close-while-stable/heartbeat-in-flight", allowed=["C7"])
def test_it_is_allowed(groupspec_client, groupspec_case):
    assert groupspec_client.check(groupspec_case)

@pytest.mark.groupspec("close-while-stable/heartbeat-in-flight", allowed=["H1"])
def test_it_is_not_allowed(groupspec_client, groupspec_case):
    groupspec_client.check(groupspec_case)
"""

THE_VECTORS = """
import pytest

@pytest.mark.groupspec_vectors("partition")
def test_my_core(groupspec_run):
    assert groupspec_run.config is not None
    for step in groupspec_run.steps:
        assert step.event.name and isinstance(step.sent, tuple)
"""


def pytest_in(folder: Path, test: str, *options: str) -> str:
    """What a client's own test-suite says."""
    (folder / "test_client.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.realtime
def test_a_clients_own_tests_run_the_kit_and_a_broken_rule_fails_them_unless_it_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\ngroupspec_client = aiokafka\n")
    told = pytest_in(tmp_path, THE_KIT)
    assert "FAIL C7 callback-at-close: " in told
    assert "1 failed, 1 passed" in told


def test_a_sans_io_core_runs_the_vectors_and_a_test_without_a_client_says_how_to_name_one(tmp_path: Path) -> None:
    told = pytest_in(tmp_path, THE_KIT + THE_VECTORS)
    assert "give --groupspec-client CLIENT" in told
    runs = sum(1 for _ in vector_runs("partition"))
    assert f"{runs} passed, 2 errors" in told


def test_vectors_that_are_not_there_are_answered_with_those_that_are() -> None:
    with pytest.raises(
        pytest.UsageError, match=r"there are no vectors members\.any; there are: commit\.any, group\.any"
    ):
        vector_runs("members")
