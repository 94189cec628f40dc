"""Kit and trace check say the same of a run, wherever both can judge: of recorded runs, and of each client's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.wire.campaign import run_campaign
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import IN_PYTHON, find_client
from groupspec.conformance.wire.recording import judge_recording, load, recordings_in
from groupspec.conformance.wire.scenarios import PATH, SCENARIOS, family_of
from groupspec.conformance.wire.tests import stories
from groupspec.conformance.wire.tests.agreement import disagreements
from groupspec.conformance.wire.tests.building import IN_RUST
from groupspec.conformance.wire.tests.test_judging import result_of
from groupspec.conformance.wire.tests.undocketed import JOBS, undocketed

CORPUS = Path(__file__).parents[1] / "recorded"
RECORDED = recordings_in([CORPUS])


@pytest.mark.parametrize("file", RECORDED, ids=[file.name for file in RECORDED])
def test_kit_and_trace_check_agree_on_a_recorded_run(file: Path) -> None:
    assert list(disagreements(judge_recording(load(file), file))) == []


@pytest.mark.parametrize(
    ("again_ms", "beats_ms", "verdict"),
    [(740, 1_130, Verdict.PASS), (740, 1_400, Verdict.FAIL), (1_140, 1_370, Verdict.FAIL)],
    ids=["silent while a lookup is out", "and long after it", "and long before it"],
)
def test_kit_and_trace_check_agree_on_H2_where_a_second_lookup_is_out(
    again_ms: int, beats_ms: int, verdict: Verdict
) -> None:
    result = result_of(stories.looked_up_twice(again_ms, beats_ms))
    assert result.judgements["H2"].verdict is verdict
    assert list(disagreements(result)) == []


def agree(clients: Sequence[str], report: Path, *, of_path: bool = True) -> None:
    """One run of each scenario by each of these clients: of those of the path, or of the others.

    What they do wrong is in the docket, too.
    """
    chosen = [each for each in SCENARIOS.values() if (family_of(each) == PATH) == of_path]
    cases = [Case(each, each.variants[0]) for each in chosen]
    campaign = run_campaign([find_client(name) for name in clients], cases, jobs=JOBS, report=report)
    files = recordings_in([report])
    assert len(files) == len(clients) * len(cases)
    differ = {str(file): list(disagreements(judge_recording(load(file), file))) for file in files}
    assert {file: said for file, said in differ.items() if said} == {}
    assert undocketed(campaign) == []


@pytest.mark.realtime
@pytest.mark.exhaustive
def test_kit_and_trace_check_agree_on_the_runs_of_python_clients(tmp_path: Path) -> None:
    agree(list(IN_PYTHON), tmp_path)


def installed(names: Sequence[str]) -> list[str]:
    """These clients, built where they are not."""
    for name in names:
        if not BUILDS[name].installed:
            BUILDS[name].install()
    return list(names)


@pytest.mark.realtime
@pytest.mark.nightly
def test_kit_and_trace_check_agree_on_the_runs_of_python_clients_off_the_path(tmp_path: Path) -> None:
    agree(list(IN_PYTHON), tmp_path, of_path=False)


@pytest.mark.realtime
@pytest.mark.tools
def test_kit_and_trace_check_agree_on_the_runs_of_built_clients(tmp_path: Path) -> None:
    """Not those in Rust, which take minutes to build."""
    agree(installed([name for name in BUILDS if name not in IN_RUST]), tmp_path)


@pytest.mark.realtime
@pytest.mark.nightly
def test_kit_and_trace_check_agree_on_the_runs_of_clients_in_rust(tmp_path: Path) -> None:
    agree(installed(sorted(IN_RUST)), tmp_path)
