"""README.md of the vectors: its numbers are those in the headers of the files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from groupspec.conformance.generate import ROOT

VECTORS = ROOT / "conformance" / "vectors"
README = " ".join((VECTORS / "README.md").read_text(encoding="utf-8").split())


def header(file: Path) -> dict[str, Any]:
    """The first line of a file."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        read: dict[str, Any] = json.loads(lines.readline())
    return read


HEADERS = {file: header(file) for file in sorted((VECTORS / "data").glob("*.gz"))}
OF_MEMBERS = {head["rebalance"]: head["counts"] for head in HEADERS.values() if head["subject"] == "member"}


def test_the_table_says_what_the_headers_say() -> None:
    assert len(HEADERS) == README.count(".ndjson.gz` |")
    for file, head in HEADERS.items():
        n = head["counts"]
        size = round(file.stat().st_size / 1000)
        figures = (
            f"{n['states']:,} | {n['steps']:,} | {n['late']:,} / {n['timers']:,} / {n['illegal']:,} "
            f"| {n['pairs']:,} ({n['pair_steps']:,}) | {size} kB |"
        )
        row = README.partition(f"| `{file.name}` |")[2].partition("|")[2]
        assert row.startswith(f" {figures}"), f"{file.name}: {figures}"


def test_the_sums_in_the_text_are_those_of_the_headers() -> None:
    steps = sum(n["steps"] + n["pair_steps"] for n in OF_MEMBERS.values())
    assert f"all of both protocols, {steps:,} steps" in README
    assert f"the {sum(n['late'] for n in OF_MEMBERS.values()):,} late answers" in README
    eager, cooperative = (OF_MEMBERS[rebalance]["changes"] for rebalance in ("eager", "cooperative"))
    assert f"each step that changes something ({eager:,} eager, {cooperative:,} cooperative)" in README


def test_the_toy_member_has_as_many_lines_as_is_said() -> None:
    toy = VECTORS / "examples" / "toy_member"
    member, rules = (len((toy / f"{name}.go").read_text(encoding="utf-8").splitlines()) for name in ("member", "rules"))
    assert f"as one table, {member} lines; `rules.go`, {rules} more" in README


def test_a_partition_has_as_many_pairs_in_the_feasible_ones_as_is_said() -> None:
    feasible = (ROOT / "conformance" / "generated" / "feasible").glob("subscription.*.json")
    pairs = {len(json.loads(file.read_text(encoding="utf-8"))["feasible_pairs"]) for file in feasible}
    assert [f"more than the {number} there" in README for number in pairs] == [True]
