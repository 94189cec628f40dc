"""What users import: small, documented, and tried as the docstrings show it."""

from __future__ import annotations

import doctest
import inspect
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

import groupspec.conformance
import groupspec.conformance.api
import groupspec.conformance.vectors.reading
import groupspec.impl
import groupspec.spec
import groupspec.spec.api
from groupspec.conformance.checks.verdicts import Combined, Judgement, Verdict
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.pytest_plugin import ClientUnderTest, vector_runs
from groupspec.conformance.tests.repository import ROOT
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.results import ClientResult, Row
from groupspec.conformance.wire.scenarios import find_cases
from groupspec.spec.rules import RULES

PACKAGES = (groupspec.spec, groupspec.impl, groupspec.conformance)
WITH_EXAMPLES = (*PACKAGES, groupspec.spec.api, groupspec.conformance.api, groupspec.conformance.vectors.reading)
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
@pytest.mark.parametrize("module", WITH_EXAMPLES, ids=lambda module: str(module.__name__))
def test_the_examples_of_the_docstrings_are_so(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    tried = doctest.testmod(module, optionflags=doctest.ELLIPSIS)  # type: ignore[arg-type]  # a module
    assert tried.attempted > 0
    assert tried.failed == 0


def test_the_readmes_example_is_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False, encoding="utf-8")
    assert tried.attempted == 8
    assert tried.failed == 0


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


def told_by(pytester: pytest.Pytester, test: str, *options: str) -> str:
    """What a client's own test-suite says."""
    pytester.makepyfile(test)
    return str(pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider", *options).stdout)


@pytest.mark.realtime
@pytest.mark.exhaustive
def test_a_clients_own_tests_run_the_kit_and_a_broken_rule_fails_them_unless_it_is_allowed(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\ngroupspec_client = aiokafka\n")
    told = told_by(pytester, THE_KIT)
    assert "FAIL C7 callback-at-close: " in told
    assert "1 failed, 1 passed" in told
    assert "pytest_plugin.py" not in told.partition("FAIL C7")[0]


def test_a_sans_io_core_runs_the_vectors_and_a_test_without_a_client_says_how_to_name_one(
    pytester: pytest.Pytester,
) -> None:
    told = told_by(pytester, THE_KIT + THE_VECTORS)
    assert "give --groupspec-client CLIENT" in told
    assert "def groupspec_client" not in told
    runs = sum(1 for _ in vector_runs("partition"))
    assert f"{runs} passed, 2 errors" in told


def test_a_scenario_or_a_rule_that_is_not_there_is_told_with_the_nearest(pytester: pytest.Pytester) -> None:
    assert "did you mean 'first-join'?" in told_by(
        pytester, THE_KIT.replace("close-while-stable/heartbeat-in-flight", "first-jion")
    )
    told = told_by(
        pytester, THE_KIT.replace('"C7"', '"callback-at-clos"'), "--groupspec-client=reference", "-k", "is_allowed"
    )
    assert "there is no rule 'callback-at-clos'" in told
    assert "did you mean 'callback-at-close'?" in told


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (THE_KIT.replace("allowed", "allow", 1), ("keyword of the marker groupspec 'allow'", "'allowed'?")),
        (THE_KIT.replace('allowed=["C7"]', "repeat=0"), ("repeat is 0", "a whole number from 1 on")),
        (THE_KIT.replace('"C7"', '"C99"'), ("there is no rule 'C99'",)),
        (
            THE_VECTORS.replace('"partition"', '"partiton"'),
            ("no vectors partiton.any", "did you mean 'partition.any'?"),
        ),
        (THE_VECTORS.replace(")", ", rebalanc='any')", 1), ("there is no keyword", "did you mean 'rebalance'?")),
    ],
    ids=["keyword", "repeat", "rule", "subject", "keyword of the vectors"],
)
def test_what_a_marker_names_and_there_is_not_is_refused_without_a_traceback(
    pytester: pytest.Pytester, test: str, said: tuple[str, ...]
) -> None:
    told = told_by(pytester, test, "--groupspec-client=reference")
    assert all(words in told for words in said)
    assert "1 error" in told
    assert "passed" not in told
    assert "pytest_plugin.py" not in told


ENDS_AT_ONCE = "import sys; sys.exit('no such broker')"


@pytest.mark.realtime
def test_the_client_of_the_ini_file_is_started_where_that_lies_and_its_stderr_is_told(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini(f"[pytest]\ngroupspec_client = cmd:{sys.executable} my_harness.py\n")
    (pytester.path / "my_harness.py").write_text(ENDS_AT_ONCE)
    below = pytester.mkdir("tests")
    (below / "test_it.py").write_text(THE_KIT)
    monkeypatch.chdir(below)
    told = str(pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider").stdout)
    assert "nothing was judged: the harness was not ready: the client's process ended with exit code 1" in told
    assert "stderr: no such broker" in told
    assert Path.cwd() == below


def client_result(monkeypatch: pytest.MonkeyPatch, **verdicts: Verdict) -> ClientUnderTest:
    """A client of which a run says so, by rule."""
    [case] = find_cases(["close-while-stable/heartbeat-in-flight"])
    rows = [
        Row(case, rule, Combined(Judgement(each, "why"), 0, {each: 1}), 0.1, "groupspec")
        for rule, each in verdicts.items()
    ]
    result = ClientResult(Client("c", ()), "c", "1", rows)
    monkeypatch.setattr(ClientUnderTest, "_judged", lambda *_, **__: result)
    return ClientUnderTest("c", frozenset({"H1"}))


def test_a_should_is_a_warning_unless_it_is_allowed_to_be_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_result(monkeypatch, C7=Verdict.PASS, J3=Verdict.DEVIATION, H1=Verdict.DEVIATION)
    with pytest.warns(pytest.PytestWarning) as told:
        assert len(client.check("x")) == 3
    assert [str(each.message).partition(":")[0] for each in told] == [f"DEVIATION {RULES['J3'].title}"]


def test_a_rule_that_could_not_be_judged_fails_as_in_conform(monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_result(monkeypatch, C7=Verdict.PASS, L1=Verdict.INCONCLUSIVE, K1=Verdict.UNSUPPORTED)
    with pytest.raises(AssertionError, match=f"^INCONCLUSIVE {RULES['L1'].title}: why"):
        client.check("x")


@pytest.mark.parametrize("client", ["acme", "cmd:/no/such/program"])
def test_a_client_that_there_is_not_is_told_without_a_traceback(pytester: pytest.Pytester, client: str) -> None:
    told = told_by(pytester, THE_KIT, f"--groupspec-client={client}")
    assert "2 errors" in told
    assert "there is no client 'acme'" in told or "the command '/no/such/program' is not there" in told
    assert "def groupspec_client" not in told
    assert "During handling" not in told


def test_vectors_that_are_not_there_are_answered_with_those_that_are() -> None:
    with pytest.raises(UsageProblem, match=r"there are no vectors members\.any\s+allowed: +commit\.any, group\.any"):
        vector_runs("members")
