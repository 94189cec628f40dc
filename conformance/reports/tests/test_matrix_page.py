"""The table of clients and versions: its order, its history, and a page that stands by itself."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from groupspec.conformance.cli import main
from groupspec.conformance.errors import EXIT_OK, EXIT_USAGE
from groupspec.conformance.reports.consequences import consequences
from groupspec.conformance.reports.inputs import ClientVerdicts, Conform, VerdictRow
from groupspec.conformance.reports.matrix_page import matrix_html
from groupspec.conformance.reports.tests import samples
from groupspec.conformance.reports.tests.test_html import Page
from groupspec.conformance.reports.versions import Versions, together


def saved(file: Path, version: str, *rows: VerdictRow, name: str = "java") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.encode(Conform((ClientVerdicts(name, version, rows, client=name),), 1.0)))
    return file


def table(tmp_path: Path, *verdicts: tuple[str, str]) -> Versions:
    """One rule of one client: version and verdict."""
    files = [saved(tmp_path / f"{n}.json", each, samples.row("J1", seen)) for n, (each, seen) in enumerate(verdicts)]
    return together(files, tmp_path)


def test_versions_go_from_old_to_new_by_the_value_of_their_numbers(tmp_path: Path) -> None:
    versions = table(tmp_path, ("3.10.0", "PASS"), ("3.9.1", "PASS"), ("4.0.0-rc1", "PASS"), ("", "PASS"))
    assert [column.version for column in versions.groups["java"]] == ["", "3.9.1", "3.10.0", "4.0.0-rc1"]


@pytest.mark.parametrize(
    ("verdicts", "turns"),
    [
        (["PASS", "FAIL"], ["broken since 2"]),
        (["FAIL", "PASS"], ["fixed in 2"]),
        (["FAIL", "DEVIATION"], []),
        (["FAIL", "UNTESTABLE", "PASS"], ["fixed in 3"]),
        (["UNTESTABLE", "FAIL"], []),
        (["PASS", "FAIL", "PASS"], ["broken since 2", "fixed in 3"]),
    ],
)
def test_what_became_of_a_rule_from_version_to_version(tmp_path: Path, verdicts: list[str], turns: list[str]) -> None:
    versions = table(tmp_path, *((str(n), each) for n, each in enumerate(verdicts, 1)))
    assert [str(turn) for turn in versions.turns.get(("java", "J1"), [])] == turns


def test_a_version_that_was_judged_by_other_cases_neither_breaks_nor_fixes_anything(tmp_path: Path) -> None:
    old = saved(tmp_path / "old.json", "1", samples.row("J1", "PASS", "first-join"))
    new = saved(tmp_path / "new.json", "2", samples.row("J1", "FAIL"), samples.row("J1", "PASS", "first-join"))
    assert together([old, new], tmp_path).turns == {}


def test_the_last_result_counts_and_logs_are_linked_where_they_are(tmp_path: Path) -> None:
    samples.write_run(tmp_path / "report")
    first = saved(tmp_path / "first.json", "1", samples.row("J1", "PASS"), samples.row("H3", "PASS"))
    last = saved(tmp_path / "report" / "conform.json", "1", samples.row("J1", "FAIL"))
    [column] = together([first, last], tmp_path / "out").columns
    rows = {row.rule: (row.verdict, row.folder) for row in column.rows.values()}
    assert rows == {"J1": ("FAIL", "../report/kafka-python/rebalance-eager"), "H3": ("PASS", "")}


def test_the_page_stands_by_itself_and_each_cell_leads_to_what_it_says(tmp_path: Path) -> None:
    samples.write_run(tmp_path)
    (tmp_path / "conform.json").write_bytes(msgspec.json.encode(samples.conform()))
    other = saved(tmp_path / "old.json", "2.0.0", samples.row("J1", "PASS"), name="kafka-python")
    text = matrix_html(together([tmp_path / "conform.json", other], tmp_path / "out"))
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    inside = [link[1:] for link in page.links if link.startswith("#")]
    assert set(inside) <= set(page.ids)
    outside = {link for link in page.links if not link.startswith("#")}
    assert all((tmp_path / "out" / link).resolve().is_file() for link in outside)
    assert len(outside) == 2
    assert "<script" not in text
    assert samples.NASTY in page.text
    told = page.text[page.text.index("Findings", page.text.index("History")) :]
    for sentence in (consequences()["J1"].expected, "a second JoinGroup was sent 12 ms", consequences()["J1"].why):
        told = told[told.index(sentence) :]
    assert "broken since 3.0.12" in page.text


def test_every_verdict_and_level_can_be_filtered_for_by_rules_of_style_alone(tmp_path: Path) -> None:
    text = matrix_html(table(tmp_path, ("1", "PASS"), ("2", "FAIL")))
    for name in ("fail", "pass"):
        assert f'id="filter-{name}"' in text
        assert f"#filter-{name}:checked) tbody tr:not(.has-{name})" in text
    for level in ("must", "should"):
        assert f"#level-{level}:checked) tbody tr:not(.{level})" in text
    assert '<tr class="must has-fail has-pass">' in text


def test_the_command_writes_the_page_and_tells_the_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = saved(tmp_path / "old.json", "1", samples.row("J1", "FAIL"))
    new = saved(tmp_path / "new.json", "2", samples.row("J1", "PASS"))
    file, out = tmp_path / "told.json", tmp_path / "out"
    assert main(["matrix", str(new), str(old), "--out", str(out), "--json", str(file)]) == EXIT_OK
    assert "java: J1 fixed in 2\n" in capsys.readouterr().out
    assert json.loads(file.read_text(encoding="utf-8"))["turns"] == [
        {"client": "java", "rule": "J1", "version": "2", "became": "fixed"}
    ]
    assert "fixed in 2" in (out / "index.html").read_text(encoding="utf-8")
    assert "several results" not in capsys.readouterr().err
    assert main(["matrix", str(tmp_path / "none.json"), "--out", str(out)]) == EXIT_USAGE
    assert main(["matrix", "--out", str(out)]) == EXIT_USAGE


def test_two_results_of_one_version_are_one_column_and_the_command_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = saved(tmp_path / "before.json", "1", samples.row("J1", "FAIL"), samples.row("J2", "PASS"))
    now = saved(tmp_path / "now.json", "1", samples.row("J1", "PASS"))
    assert main(["matrix", str(before), str(now), "--out", str(tmp_path / "out")]) == EXIT_OK
    told = capsys.readouterr().err
    assert "several results have java 1, which is one column: 1 verdicts are those of the last" in told
