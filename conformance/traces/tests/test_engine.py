"""The local engine: one verdict, whatever the files, their order and their number; and no line unaccounted for."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from groupspec.conformance.errors import InternalProblem, UsageProblem
from groupspec.conformance.traces import engine, layout
from groupspec.conformance.traces.inputs import LAYOUT_FILE
from groupspec.conformance.traces.reading import ChunkReport, to_table
from groupspec.conformance.traces.schema import TraceLine
from groupspec.conformance.traces.tests.defects import DEFECTS
from groupspec.conformance.traces.tests.judging import flat, in_order, judge_compiled
from groupspec.conformance.traces.tests.recordings import STORIES, sample
from groupspec.conformance.traces.workspace import workspace


def spoilt_traces() -> list[TraceLine]:
    """Every sample once, and once for each defect, each copy a run of its own."""
    lines = [line for story in STORIES for line in flat(sample(story.__name__))]
    for number, defect in enumerate(DEFECTS):
        for story in STORIES:
            for spoilt in list(defect.edit(sample(story.__name__)))[:1]:
                lines += [msgspec.structs.replace(line, run=f"{line.run}-{number}") for line in flat(spoilt)]
    return lines


def write_split(folder: Path, lines: list[TraceLine], files: int, rng: random.Random) -> None:
    """The lines in any order, in so many files."""
    folder.mkdir()
    shuffled = rng.sample(lines, len(lines))
    for number in range(files):
        part = shuffled[number::files]
        (folder / f"{number}.ndjson").write_bytes(msgspec.json.Encoder().encode_lines(part) + b"{bad\n")


@pytest.mark.parametrize("files", [1, 3, 8])
def test_the_verdict_does_not_depend_on_files_order_or_buckets(tmp_path: Path, files: int) -> None:
    lines = spoilt_traces()
    expected = judge_compiled(in_order(lines))
    assert len(expected) >= len(DEFECTS)
    rng = random.Random(files)
    write_split(tmp_path / "split", lines, files, rng)
    verdict = engine.check([tmp_path / "split"])
    assert verdict.found == expected
    assert (verdict.events, verdict.quarantined) == (len(lines), {"not_json": files})

    made = engine.ingest([tmp_path / "split"], tmp_path / "layout", buckets=rng.choice((1, 5, 64)))
    assert made.lines == len(lines) + files
    from_layout = engine.check([tmp_path / "layout"])
    assert from_layout.found == expected
    assert msgspec.structs.replace(from_layout, seconds=0.0) == msgspec.structs.replace(verdict, seconds=0.0)


def test_a_bucket_holds_whole_groups_in_order(tmp_path: Path) -> None:
    lines = spoilt_traces()
    write_split(tmp_path / "split", lines, 4, random.Random(1))
    made = engine.ingest([tmp_path / "split"], tmp_path / "layout", buckets=7)
    seen: set[tuple[str, str]] = set()
    for path in (tmp_path / "layout" / file.name for file in made.files):
        rows = pq.read_table(path).to_pylist()
        keys = [(row["run"], row["group"], row["member"], row["seq"]) for row in rows]
        assert keys == sorted(keys)
        groups = {key[:2] for key in keys}
        assert {layout.bucket_file(layout.bucket_of(*group, 7)) for group in groups} == {path.name}
        assert not seen & groups
        seen |= groups
    assert made.events == len(lines)
    assert len(layout.read_quarantine(tmp_path / "layout", made)) == 4


def test_rows_with_one_number_have_one_order() -> None:
    line = sample("alone")[0][6]
    ties = [msgspec.structs.replace(line, at_us=at) for at in (5, 3, 9)]
    one, two = layout.sort(to_table(ties)), layout.sort(to_table(ties[::-1]))
    assert one["at_us"].to_pylist() == two["at_us"].to_pylist() == [3, 5, 9]


def test_batches_of_a_bucket_file_do_not_matter(tmp_path: Path) -> None:
    table = in_order(spoilt_traces())
    layout.write_bucket(tmp_path / "b.parquet", table)
    whole = engine.check_bucket(tmp_path / "b.parquet")
    assert engine.check_bucket(tmp_path / "b.parquet", batch_rows=13) == whole
    assert whole.found == judge_compiled(table)


def test_an_output_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageProblem, match="not empty"):
        engine.ingest([Path(__file__).parent.parent / "samples"], tmp_path)


def test_a_layout_of_another_version_or_with_lost_files_is_refused(tmp_path: Path) -> None:
    samples = Path(__file__).parent.parent / "samples"
    made = engine.ingest([samples], tmp_path / "layout")
    (tmp_path / "layout" / made.files[0].name).unlink()
    with pytest.raises(UsageProblem, match="lacks its files"):
        engine.check([tmp_path / "layout"])
    marker = tmp_path / "layout" / LAYOUT_FILE
    marker.write_bytes(marker.read_bytes().replace(b'"layout_version": 4', b'"layout_version": 9'))
    with pytest.raises(UsageProblem, match="version 9"):
        engine.check([tmp_path / "layout"])
    with pytest.raises(UsageProblem, match="version 9"):
        engine.check([tmp_path / "layout", samples])


def test_a_layout_of_before_throttles_were_recorded_says_the_same(tmp_path: Path) -> None:
    """Of version 3, without the column: nobody was throttled."""
    samples, folder = Path(__file__).parent.parent / "samples", tmp_path / "layout"
    made = engine.ingest([samples], folder)
    older = [_without_throttles(folder / file.name) for file in made.files]
    marker = msgspec.structs.replace(made, layout_version=3, files=older)
    (folder / LAYOUT_FILE).write_bytes(msgspec.json.encode(marker))
    assert engine.check([folder]).events == engine.check([samples]).events == made.events
    assert engine.check([folder]).found == []


def _without_throttles(file: Path) -> layout.Written:
    rows = pq.read_table(file).drop_columns(["throttle_time_ms"])
    pq.write_table(rows, file)
    return layout.Written(file.name, rows.num_rows, file.stat().st_size, layout.checksum(file))


def test_a_layout_is_checked_alone(tmp_path: Path) -> None:
    samples = Path(__file__).parent.parent / "samples"
    engine.ingest([samples], tmp_path / "layout")
    with pytest.raises(UsageProblem, match="together with other paths"):
        engine.check([tmp_path / "layout", samples])


def test_a_line_that_is_unaccounted_for_is_an_internal_error(tmp_path: Path) -> None:
    written, report = layout.Written("bucket-00000.parquet", 2, 0, 0), ChunkReport("file", 0, lines=4, blank=1)
    with workspace(tmp_path / "out") as space, pytest.raises(InternalProblem, match="3 lines were read, but 2 events"):
        engine.finish_ingest(space, 1, [written], [report], [])
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_read_is_no_events(tmp_path: Path) -> None:
    (tmp_path / "empty.ndjson").write_bytes(b"")
    assert engine.check([tmp_path]).events == 0
    assert engine.check_tables([pa.Table.from_pylist([], schema=in_order(sample("alone")[0]).schema)]).groups == 0
