"""Two results held against each other: what is worse, what only flaps, and what has no counterpart."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from groupspec import conformance
from groupspec.conformance.cli import main
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_OK, EXIT_USAGE
from groupspec.conformance.reports.comparison import Comparison, compare, counterparts
from groupspec.conformance.reports.inputs import ClientVerdicts, Conform, VerdictRow
from groupspec.conformance.reports.tests import samples

BROKEN = Path(__file__).parents[2] / "wire" / "recorded" / "broken"


def result(*rows: VerdictRow, name: str = "acme", version: str = "1", client: str = "") -> Conform:
    return Conform((ClientVerdicts(name, version, rows, client=client),), 1.0, groupspec=conformance.__version__)


def flapping(verdict: str, broken: str = "FAIL") -> VerdictRow:
    counts = {broken: 2, "PASS": 3}
    return msgspec.structs.replace(samples.row("J1", verdict), runs=5, counts=counts, flaps=True)


def compared(old: VerdictRow, new: VerdictRow) -> Comparison:
    return compare(result(old), result(new))


@pytest.mark.parametrize(
    ("old", "new", "kind", "code"),
    [
        ("PASS", "FAIL", "broke", EXIT_CONFORMANCE_FAILURE),
        ("PASS", "DEVIATION", "broke", EXIT_OK),
        ("UNTESTABLE", "FAIL", "broke", EXIT_CONFORMANCE_FAILURE),
        ("DEVIATION", "FAIL", "broke", EXIT_CONFORMANCE_FAILURE),
        ("FAIL", "PASS", "fixed", EXIT_OK),
        ("PASS", "UNTESTABLE", "lost", EXIT_OK),
        ("FAIL", "INCONCLUSIVE", "lost", EXIT_INCONCLUSIVE),
        ("FAIL", "FAIL", "", EXIT_OK),
        ("INCONCLUSIVE", "INCONCLUSIVE", "", EXIT_OK),
        ("UNTESTABLE", "PASS", "", EXIT_OK),
    ],
)
def test_what_became_of_a_verdict(old: str, new: str, kind: str, code: int) -> None:
    found = compared(samples.row("J1", old), samples.row("J1", new))
    assert [change.kind for change in found.changes] == ([kind] if kind else [])
    assert (found.exit_code(), found.compared) == (code, 1)


def test_what_flapped_is_neither_broken_nor_fixed() -> None:
    kept, broken = samples.row("J1", "PASS"), samples.row("J1", "FAIL")
    for old, new in ((flapping("FAIL"), kept), (flapping("FAIL"), broken), (broken, flapping("FAIL"))):
        found = compared(old, new)
        assert [change.kind for change in found.changes] == ["flaps"]
        assert not found.worse
    assert [change.kind for change in compared(kept, flapping("FAIL")).changes] == ["broke"]


def test_what_has_no_counterpart_is_told_and_why() -> None:
    old = result(
        samples.row("J1", "PASS"),
        samples.row("ZZ", "PASS"),
        samples.row("J1", "PASS", "second-join"),
        samples.row("P1", "PASS"),
    )
    found = compare(old, result(samples.row("M1", "FAIL")))
    assert [change.reason for change in found.of_kind("gone")] == [
        "not judged this time",
        "this groupspec has no rule ZZ",
        "this groupspec has no case second-join",
        "this groupspec does not judge P1 in rebalance-eager",
    ]
    assert found.worse == {("acme", "rebalance-eager", "M1")}
    assert found.exit_code() == EXIT_INCONCLUSIVE  # nothing was compared


def test_clients_are_found_again_by_name_by_what_they_say_or_without_their_version() -> None:
    row = samples.row("J1", "PASS")
    for old, new in (
        (result(row, name="java@3.9.1"), result(row, name="java")),
        (result(row, name="cmd:python a.py", client="acme"), result(row, name="cmd:python b.py", client="acme")),
    ):
        assert counterparts(old, new)[new.clients[0].name] is old.clients[0]
    two = Conform((*result(row, name="java@3.9.1").clients, *result(row, name="java@4.0").clients), 1.0)
    assert counterparts(two, result(row, name="java")) == {}
    assert {*counterparts(two, two)} == {"java@3.9.1", "java@4.0"}


def test_another_version_of_groupspec_or_client_and_a_client_that_is_not_there_are_told() -> None:
    row = samples.row("J1", "PASS")
    old = msgspec.structs.replace(result(row), groupspec="0.0.1")
    here = conformance.__version__
    assert compare(old, result(row, version="2")).remarks == (
        f"the old result is of groupspec 0.0.1, this is {here}: what changed may be the rules, not the client",
        "acme 2 is held against acme 1",
    )
    unsaid = msgspec.structs.replace(old, groupspec="")
    assert "a groupspec that did not say its version" in compare(unsaid, result(row)).remarks[0]
    stranger = compare(result(row), result(samples.row("J1", "FAIL"), name="other"))
    assert stranger.remarks == (
        "other is not in the old result, which has acme: whatever it breaks is new",
        "acme is in the old result only",
    )


def judged(tmp_path: Path, file: str, *arguments: str) -> tuple[int, Path]:
    """The exit code of `conform --judge`, of a run that breaks M1, and where its result is."""
    recording = BROKEN / "aiokafka-commits-without-identity.ndjson.gz"
    code = main(["conform", "--judge", str(recording), "--json", str(tmp_path / file), *arguments])
    return code, tmp_path / file


def test_only_what_is_worse_than_the_baseline_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, old = judged(tmp_path, "old.json")
    assert code == EXIT_CONFORMANCE_FAILURE
    assert judged(tmp_path, "same.json", "--baseline", str(old))[0] == EXIT_OK
    assert "no worse than the baseline in 1 of 1 case" in capsys.readouterr().out
    better = json.loads(old.read_text(encoding="utf-8"))
    for row in better["clients"][0]["results"]:
        row["verdict"] = "PASS"
    old.write_text(json.dumps(better), encoding="utf-8")
    code, new = judged(tmp_path, "new.json", "--baseline", str(old))
    assert code == EXIT_CONFORMANCE_FAILURE
    assert json.loads(new.read_text(encoding="utf-8"))["baseline"]["counts"]["broke"] == 4
    assert "BROKE aiokafka: M1 commit-identity in " in capsys.readouterr().out


def test_two_saved_results_are_compared_by_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, whole = judged(tmp_path, "whole.json")
    _, some = judged(tmp_path, "some.json", "--rule", "J2")
    file = tmp_path / "compared.json"
    assert main(["compare", str(whole), str(some), "--json", str(file)]) == EXIT_OK
    found = json.loads(file.read_text(encoding="utf-8"))
    assert (found["compared"], found["counts"]["gone"] > 0) == (1, True)
    capsys.readouterr()
    assert main(["compare", str(some), str(whole)]) == EXIT_OK
    told = capsys.readouterr().out
    assert "NEW aiokafka: M1 commit-identity in " in told
    assert "replay: groupspec conform --judge " in told
    assert main(["compare", str(whole), str(tmp_path / "none.json")]) == EXIT_USAGE
    assert "this is no result of groupspec" in capsys.readouterr().err
