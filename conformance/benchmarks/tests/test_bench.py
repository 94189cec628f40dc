"""The bench command with benchmarks that take no time: what it shows, what it writes, and which names it knows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from groupspec.conformance.benchmarks.figures import Benchmark, Figure, find, names
from groupspec.conformance.commands import bench
from groupspec.conformance.errors import UsageProblem

TWICE = Figure("reading", "events/s", [2000.0, 1000.0, 4000.0], "writing", [1000.0], ">= 1.5x", True)
MISSED = Figure("waiting", "s", [61.0], goal="<= 60 s", reached=False, note="2 cores")


def _measure(now: Callable[[str], None]) -> list[Figure]:
    now("measuring")
    return [TWICE, MISSED]


@pytest.fixture
def two_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "names", lambda: ["all"])
    monkeypatch.setattr(bench, "find", lambda name: Benchmark("both", _measure))


@pytest.mark.usefixtures("two_figures")
def test_figures_are_shown_beside_their_peer_and_goal_and_written_as_json(tmp_path: Path) -> None:
    ran = CliRunner().invoke(bench.command, ["--json", str(tmp_path / "f.json")], standalone_mode=False)
    assert ran.exit_code == 0, ran.output
    assert "reading: 2,000 events/s (1,000 .. 4,000, 3 runs)" in ran.output
    assert "against writing: 1,000 events/s; ratio 2" in ran.output
    assert "goal <= 60 s: MISSED" in ran.output
    figures = json.loads((tmp_path / "f.json").read_text())["figures"]
    assert [figure["ratio"] for figure in figures] == [2.0, None]
    assert (figures[0]["min"], figures[0]["median"], figures[0]["max"], figures[0]["runs"]) == (
        1000.0,
        2000.0,
        4000.0,
        3,
    )


def test_every_file_of_the_folder_is_a_benchmark() -> None:
    assert {"step", "suite", "coverage", "wire"} <= set(names())
    assert all(find(name).about for name in names())


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageProblem, match=r"no benchmark 'stpe'[\s\S]*step"):
        find("stpe")


def test_the_compiled_step_is_measured_on_events_that_the_machine_knows() -> None:
    from groupspec.conformance.benchmarks import step
    from groupspec.spec.compiler.step import NO_ROW, compile_step
    from groupspec.spec.compiler.tables import tables

    compiled = compile_step(tables()["rebalance", "cooperative", "deployed"])
    drawn = step._draw(compiled.step, compiled.initial)
    assert len(drawn) == step.EVENTS
    rows = {compiled.step(*event)[0] for event in drawn}
    assert NO_ROW not in rows
    assert {compiled.table.rows[row].kind for row in rows} >= {"transition", "ignored"}


def test_a_figure_without_a_goal_misses_none() -> None:
    assert Figure("pairs", "%", [90.0], reached=False).data()["reached"] is None
