"""Spark and the local engine give one verdict, field by field.

Whatever the files, their order, buckets and partitions.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.spark.check import check
from groupspec.conformance.spark.ingest import ingest
from groupspec.conformance.traces import engine, fleet, layout
from groupspec.conformance.traces.engine import BATCH_ROWS, Verdict
from groupspec.conformance.traces.schema import TraceLine
from groupspec.conformance.traces.tests.defects import DEFECTS
from groupspec.conformance.traces.tests.judging import flat, in_order, judge_compiled, rules
from groupspec.conformance.traces.tests.recordings import STORIES, sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ENCODER = msgspec.json.Encoder()


def spoilt_traces() -> list[TraceLine]:
    """Every defect in every sample that it fits, each a run of its own."""
    lines: list[TraceLine] = []
    for number, defect in enumerate(DEFECTS):
        for story in STORIES:
            for spoilt in list(defect.edit(sample(story.__name__)))[:1]:
                lines += [msgspec.structs.replace(line, run=f"{line.run}-{number}") for line in flat(spoilt)]
    return lines


def write(folder: Path, lines: list[TraceLine], files: int, rng: random.Random) -> None:
    """The lines in any order, in so many files; the last line of each is cut off."""
    folder.mkdir()
    shuffled = rng.sample(lines, len(lines))
    for number in range(files):
        part = ENCODER.encode_lines(shuffled[number::files])
        (folder / f"{number}.ndjson").write_bytes(part + part[:50])


def timeless(verdict: Verdict) -> Verdict:
    return msgspec.structs.replace(verdict, seconds=0.0)


@pytest.mark.parametrize(
    ("files", "buckets", "partitions"),
    [
        (2, 3, 2),
        pytest.param(1, 3, 1, marks=pytest.mark.exhaustive),
        pytest.param(5, 16, 4, marks=pytest.mark.exhaustive),
    ],
)
def test_spark_and_the_local_engine_agree_field_by_field(
    spark: SparkSession, tmp_path: Path, files: int, buckets: int, partitions: int
) -> None:
    lines = spoilt_traces()
    write(tmp_path / "split", lines, files, random.Random(files))
    local = engine.check([tmp_path / "split"])
    assert set(rules(local.found)) == {defect.rule for defect in DEFECTS}
    assert local.quarantined == {"truncated": files}

    made = ingest(spark, [tmp_path / "split"], tmp_path / "spark", buckets, partitions)
    assert timeless(check(spark, [tmp_path / "spark"])) == timeless(local)
    assert timeless(engine.check([tmp_path / "spark"])) == timeless(local)

    same = engine.ingest([tmp_path / "split"], tmp_path / "local", buckets)
    assert made == same
    for file in made.files:
        assert (tmp_path / "spark" / file.name).read_bytes() == (tmp_path / "local" / file.name).read_bytes()
    assert layout.read_quarantine(tmp_path / "spark", made) == layout.read_quarantine(tmp_path / "local", same)


@pytest.mark.exhaustive
def test_a_group_larger_than_a_batch_has_the_same_verdict(spark: SparkSession, tmp_path: Path) -> None:
    """One member with more events than a batch holds, and a defect behind the first batch."""
    members = list(fleet.groups("run", 1, members=2, rounds=1, beats=BATCH_ROWS // 4, seed=5))
    long = members[0]
    assert len(long) > BATCH_ROWS
    place = next(p for p in range(BATCH_ROWS + 10, len(long)) if long[p].event == "heartbeat_sent")
    long[place] = msgspec.structs.replace(long[place], generation=long[place].generation - 1)
    expected = judge_compiled(in_order(flat(members)))
    assert rules(expected) == ["T-GENERATION-BACKWARDS"]
    (tmp_path / "trace.ndjson").write_bytes(ENCODER.encode_lines(flat(members)))
    assert check(spark, [tmp_path / "trace.ndjson"]).found == expected
    assert engine.check([tmp_path / "trace.ndjson"]).found == expected


def test_no_lines_at_all_is_a_layout_without_events(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "empty.ndjson").write_bytes(b"")
    assert ingest(spark, [tmp_path / "empty.ndjson"], tmp_path / "out").events == 0
    assert check(spark, [tmp_path / "out"]).violations == []


def test_what_cannot_be_read_is_a_usage_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="No such file"):
        ingest(spark, [tmp_path / "nowhere"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
