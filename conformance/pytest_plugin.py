"""The kit inside a client's own pytest run. Loaded by pytest itself, where groupspec is installed.

In `pyproject.toml` the client, a built-in name or a program that speaks the harness protocol (wire/PROTOCOL.md), which
is started in the folder of that file:

    [tool.pytest.ini_options]
    groupspec_client = "cmd:./build/my-harness"

One test for each case of the kit, or of the scenarios that the marker names; `allowed` are rules, by id or name, that
may be broken, and `repeat` is how often each case is run:

    @pytest.mark.groupspec("first-join", "rebalance-eager", allowed=["H2"], repeat=3)
    def test_my_client(groupspec_client, groupspec_case):
        groupspec_client.check(groupspec_case)

A test fails where `groupspec conform` would not end with 0: a FAIL, or an INCONCLUSIVE rule. A DEVIATION is a warning
of pytest's.

And one test for each run of the vectors, for a client whose core does no input or output of its own:

    @pytest.mark.groupspec_vectors("member", "cooperative")
    def test_my_core(groupspec_run):
        core = MyCore(groupspec_run.config)
        for step in groupspec_run.steps:
            assert core.receive(step.event) == step.sent
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groupspec.conformance.errors import UsageProblem, did_you_mean, require_known
from groupspec.spec import printable

if TYPE_CHECKING:
    from groupspec.conformance.vectors.reading import VectorFile, VectorStep
    from groupspec.conformance.wire.results import ClientResult, Row
    from groupspec.spec.terms import Value

CLIENT = "groupspec_client"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The client, on the command line or in the ini-file."""
    what = "the client that groupspec judges: a built-in name, or cmd:COMMAND LINE"
    parser.getgroup("groupspec").addoption("--groupspec-client", dest=CLIENT, metavar="CLIENT", help=what)
    parser.addini(CLIENT, what)


def pytest_configure(config: pytest.Config) -> None:
    """The markers."""
    what = "groupspec(*scenarios, allowed=(), repeat=1): these of the kit; these rules may be broken; runs of each case"
    config.addinivalue_line("markers", what)
    config.addinivalue_line("markers", "groupspec_vectors(subject, rebalance='any'): each run of these vectors")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each case, or each run of the vectors.

    Raises:
        CollectError: a marker names what there is not.
    """
    kit = metafunc.definition.get_closest_marker("groupspec")
    vectors = metafunc.definition.get_closest_marker("groupspec_vectors")
    try:
        _require_keywords(kit, "allowed", "repeat")
        _allowed(kit)
        _repeat(kit)
        if "groupspec_case" in metafunc.fixturenames:
            from groupspec.conformance.wire.scenarios import find_cases

            cases = find_cases(kit.args if kit else ())
            metafunc.parametrize("groupspec_case", [case.selector for case in cases])
        if "groupspec_run" in metafunc.fixturenames:
            _require_keywords(vectors, "subject", "rebalance")
            runs = list(vector_runs(*vectors.args, **vectors.kwargs) if vectors else vector_runs("member", "eager"))
            metafunc.parametrize("groupspec_run", runs, ids=str)
    except UsageProblem as problem:
        raise pytest.Collector.CollectError(str(problem)) from problem


def _require_keywords(marker: pytest.Mark | None, *known: str) -> None:
    for name in marker.kwargs if marker else ():
        require_known(name, known, f"keyword of the marker {marker.name}" if marker else "")


def _allowed(marker: pytest.Mark | None) -> frozenset[str]:
    """The ids of the rules that a marker allows to be broken."""
    named = marker.kwargs.get("allowed", ()) if marker else ()
    if not named:
        return frozenset()
    from groupspec.conformance.checks.verdicts import rule_named

    return frozenset(map(rule_named, [named] if isinstance(named, str) else named))


def _repeat(marker: pytest.Mark | None) -> int:
    """How often a marker asks for each case."""
    repeat = marker.kwargs.get("repeat", 1) if marker else 1
    if not isinstance(repeat, int) or repeat < 1:
        raise UsageProblem(f"repeat is {repeat!r} in the marker groupspec", allowed="a whole number from 1 on")
    return repeat


@dataclass(frozen=True)
class VectorRun:
    """Two transitions of one machine that fire one after the other, and the way there and back.

    Attributes:
        rows: The two rows.
        config: The configuration of the member.
        steps: From before the first event: each with its event, and what must be sent on it, in order.
    """

    rows: tuple[str, str]
    config: Mapping[str, Value]
    steps: tuple[VectorStep, ...]

    def __str__(self) -> str:
        return " > ".join(self.rows)


def vector_runs(subject: str, rebalance: str = "any") -> Iterable[VectorRun]:
    """Every run of the vectors that ship with groupspec.

    Raises:
        UsageProblem: there are none of that subject and protocol.
    """
    from groupspec.conformance.vectors.reading import read_vectors, vector_files

    [*found] = (file for file in vector_files() if file.name.startswith(f"{subject}.{rebalance}."))
    if not found:
        known = [file.name.removesuffix(".deployed.ndjson.gz") for file in vector_files()]
        meant = did_you_mean(f"{subject}.{rebalance}", known)
        raise UsageProblem(f"there are no vectors {subject}.{rebalance}", allowed=known, next_step=meant)
    vectors: VectorFile = read_vectors(found[0])
    return (VectorRun(p.rows, vectors.states[p.start].config, (*p.run, *(p.back or ()))) for p in vectors.pairs)


@dataclass(frozen=True)
class ClientUnderTest:
    """A client, to be judged case by case.

    Attributes:
        name: A built-in name, or cmd:COMMAND LINE.
        allowed: Rules that it may break.
        folder: Where its program is started.
        repeat: How often each case is run.
    """

    name: str
    allowed: frozenset[str] = field(default_factory=frozenset)
    folder: Path = field(default_factory=Path)
    repeat: int = 1

    def check(self, case: str) -> list[Row]:
        """Runs one case, and again if a rule was broken that is not allowed to be, until that is certain or flaps.

        What breaks a *should* (DEVIATION) is a warning.

        Returns:
            Its verdicts, one for each rule.

        Raises:
            AssertionError: a rule was broken that is not allowed to be, or not all could be judged.
            UsageProblem: there is no such client or case.
        """
        __tracebackhide__ = True  # of pytest: whose test it is wants the message, not these lines
        from groupspec.conformance.checks.verdicts import JUDGED, Verdict

        judged = self._judged(case, confirm=False)
        rows, ends = list(judged.rows), _stderr(judged)
        if once := self._failed(rows):
            again = self._failed(list(self._judged(case, confirm=True).rows))
            raise AssertionError("\n".join(_told(row) for row in again or once) + ends)
        if {row.judgement.verdict for row in rows} == {Verdict.UNSUPPORTED}:
            pytest.skip(printable.line(rows[0].judgement.reason))
        if not {row.judgement.verdict for row in rows} & {*JUDGED}:
            raise AssertionError(f"nothing was judged: {printable.line(rows[0].judgement.reason)}{ends}")
        if unsure := [row for row in rows if row.judgement.verdict is Verdict.INCONCLUSIVE]:
            raise AssertionError("\n".join(map(_told, unsure)) + ends)
        for row in rows:
            if row.judgement.verdict is Verdict.DEVIATION and row.rule not in self.allowed:
                warnings.warn(pytest.PytestWarning(_told(row)), stacklevel=2)
        return rows

    def _judged(self, case: str, confirm: bool) -> ClientResult:
        __tracebackhide__ = True
        from groupspec.conformance import judge

        with chdir(self.folder):
            [client] = judge(self.name, [case], jobs=1, repeat=self.repeat, confirm=confirm).clients
        return client

    def _failed(self, rows: list[Row]) -> list[Row]:
        from groupspec.conformance.checks.verdicts import Verdict

        return [row for row in rows if row.judgement.verdict is Verdict.FAIL and row.rule not in self.allowed]


def _told(row: Row) -> str:
    from groupspec.spec.rules import RULES

    reason, replay = printable.line(row.judgement.reason), printable.line(row.replay)
    return f"{row.judgement.verdict.value} {RULES[row.rule].title}: {reason}\n  replay: {replay}"


def _stderr(client: ClientResult) -> str:
    """The end of what the client's process wrote there, if it broke off."""
    lines = [line for crash in client.crashes for line in crash.stderr.splitlines()]
    return "".join(f"\n  stderr: {printable.line(line)}" for line in lines)


@pytest.fixture
def groupspec_client(request: pytest.FixtureRequest) -> ClientUnderTest:
    """The client that --groupspec-client or the ini-file names, started where that was written."""
    config = request.config
    given = config.getoption(CLIENT)
    name, folder = (given, config.invocation_params.dir) if given else (config.getini(CLIENT), config.rootpath)
    if not name:
        told = "no client: set groupspec_client in the ini-file, or give --groupspec-client CLIENT"
        pytest.fail(told, pytrace=False)
    from groupspec.conformance.wire.clients import find_client

    wrong = ""
    try:
        with chdir(folder):
            find_client(name)
    except UsageProblem as problem:
        wrong = str(problem)
    if wrong:  # told once: not while the problem is being handled
        pytest.fail(wrong, pytrace=False)
    marker = request.node.get_closest_marker("groupspec")
    return ClientUnderTest(name, _allowed(marker), folder, _repeat(marker))
