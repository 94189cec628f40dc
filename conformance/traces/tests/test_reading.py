"""Reading: the same events however the files are cut, and every other line in quarantine with its reason."""

from __future__ import annotations

import json
import tempfile
from datetime import datetime
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.traces import layout, reading
from groupspec.conformance.traces.inputs import Input, find_files
from groupspec.conformance.traces.parquet import ARROW_SCHEMA
from groupspec.conformance.traces.quarantine import REASONS, Quarantined
from groupspec.conformance.traces.reading import numbered, pack, parse, plan
from groupspec.conformance.traces.schema import Settings, TraceLine
from groupspec.conformance.traces.tests.recordings import SAMPLES

GOOD = {
    "v": 1, "run": "r", "group": "g", "member": "m", "seq": 4, "at_us": 7, "source": "wire", "event": "poll",
    "error": None, "generation": 3, "member_id": "m-1", "partitions": ["a-0", "a-1"],
}  # fmt: skip


def line(**changes: object) -> bytes:
    return json.dumps({**GOOD, **changes}, separators=(",", ":")).encode()


def without(field: str) -> bytes:
    return json.dumps({name: value for name, value in GOOD.items() if name != field}).encode()


BAD = [
    (b"\xff\xfe{\x00", "not_utf8"),
    (line(member="Zo\xeb").decode().encode("utf-16"), "not_utf8"),
    (line(member="x").replace(b'"x"', b'"\xe9"'), "not_utf8"),
    (b"hello", "not_json"),
    (b"[1, 2]", "not_json"),
    (b"{" + line(), "not_json"),
    (line() + b" " + line(), "not_json"),
    (b'{"v": 1} and more', "not_json"),
    (line(v=2), "wrong_version"),
    (line(v="1"), "wrong_version"),
    (line(v=2, event="danced", colour="red"), "wrong_version"),
    (without("v"), "missing_field"),
    (without("seq"), "missing_field"),
    (line(colour="red"), "unknown_field"),
    (line(event="danced"), "unknown_event"),
    (line(event=5), "bad_value"),
    (line(seq=-1), "bad_value"),
    (line(seq="4"), "bad_value"),
    (line(seq=4.0), "bad_value"),
    (line(at_us=2**63), "bad_value"),
    (line(generation=2**31), "bad_value"),
    (line(throttle_time_ms=-1), "bad_value"),
    (line(group=""), "bad_value"),
    (line(partitions=[""]), "bad_value"),
    (line(partitions=None), "bad_value"),
    (line(source="rumour"), "bad_value"),
    (line(detail=[1]), "bad_value"),
    (line(event="config"), "bad_value"),
    (line(event="config", detail={"rebalance": "lazy"}), "bad_value"),
]


def read(path: Path, chunk_bytes: int = reading.CHUNK_BYTES) -> tuple[pa.Table, list[Quarantined]]:
    parsed = [part for task in pack(plan(find_files([path]).files, chunk_bytes)) for part in parse(task)]
    events = pa.concat_tables([part.events for part in parsed]) if parsed else ARROW_SCHEMA.empty_table()
    quarantined = numbered(report for part in parsed for report in part.reports)
    reports = [report for part in parsed for report in part.reports]
    assert sum(report.lines - report.blank for report in reports) == events.num_rows + len(quarantined)
    return layout.sort(events), quarantined


@pytest.mark.parametrize(("bad", "reason"), BAD, ids=[f"{number}-{reason}" for number, (_, reason) in enumerate(BAD)])
def test_a_bad_line_is_quarantined_with_its_reason_and_place(tmp_path: Path, bad: bytes, reason: str) -> None:
    file = tmp_path / "trace.ndjson"
    bad = bad.replace(b"\n", b"?")
    file.write_bytes(line(seq=0) + b"\n\n" + bad + b"\n" + line(seq=1) + b"\n")
    events, quarantined = read(file)
    assert events["seq"].to_pylist() == [0, 1]
    assert [(one.file, one.line, one.reason) for one in quarantined] == [(str(file), 3, reason)]


def test_every_reason_is_tested() -> None:
    assert {reason for _, reason in BAD} | {"truncated", "damaged"} == set(REASONS)


@pytest.mark.parametrize("rest", [line()[:40], line(member="Zoë".encode().decode())[:-1], "Zoë".encode()[:-1]])
def test_a_file_that_ends_in_the_middle_of_a_line_is_truncated(tmp_path: Path, rest: bytes) -> None:
    file = tmp_path / "trace.ndjson"
    file.write_bytes(line() + b"\n" + rest)
    events, quarantined = read(file)
    assert events.num_rows == 1
    assert [(one.line, one.reason) for one in quarantined] == [(2, "truncated")]


def test_a_last_line_without_line_end_is_an_event(tmp_path: Path) -> None:
    file = tmp_path / "trace.ndjson"
    file.write_bytes(b"\xef\xbb\xbf" + line(seq=0) + b"\r\n" + line(seq=1))
    events, quarantined = read(file)
    assert (events["seq"].to_pylist(), quarantined) == ([0, 1], [])


@pytest.mark.parametrize("chunk_bytes", [1, 50, 199, 1_000, 30_000])
def test_a_file_gives_the_same_however_it_is_cut(tmp_path: Path, chunk_bytes: int) -> None:
    file = tmp_path / "trace.ndjson"
    lines = (SAMPLES / "expelled.ndjson").read_bytes().splitlines()
    lines[7] = b"what?"
    lines.insert(20, b"")
    file.write_bytes(b"\n".join(lines) + b"\n" + lines[3][:30])
    whole, cut = read(file), read(file, chunk_bytes)
    assert whole[0].equals(cut[0])
    assert whole[1] == cut[1]
    assert [(one.line, one.reason) for one in cut[1]] == [(8, "not_json"), (len(lines) + 1, "truncated")]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
details = st.dictionaries(texts, texts | st.booleans() | st.dictionaries(texts, texts, max_size=1), max_size=2)
values = st.one_of(st.none(), st.booleans(), st.integers(-3, 2**64), st.floats(allow_nan=False), texts, st.lists(texts))
changed = st.dictionaries(st.sampled_from([*GOOD, "extra"]), values, max_size=2)
event_lines = st.builds(
    lambda name, changes,
    detail: {**GOOD, "member": name, **changes, **({"detail": detail} if detail is not None else {})},
    texts.filter(bool), st.just({}) | changed, st.none() | details,
)  # fmt: skip


def an_event(data: bytes) -> bool:
    """By what the schema of msgspec and that of the settings say, and nothing of ours."""
    try:
        event = msgspec.json.decode(data, type=TraceLine)
        fields = json.loads(data)
        if event.event == "config":
            msgspec.convert(fields.get("detail"), Settings)
        return isinstance(fields.get("detail"), dict | None)
    except (msgspec.MsgspecError, ValueError):
        return False


@settings(max_examples=150, deadline=None)
@given(st.lists(event_lines, min_size=1, max_size=5), st.sampled_from([(",", ":"), (", ", ": ")]))
def test_every_line_is_an_event_or_in_quarantine(objects: list[dict[str, object]], separators: tuple[str, str]) -> None:
    lines = [json.dumps(one, separators=separators, ensure_ascii=False).encode() for one in objects]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.ndjson"
        file.write_bytes(b"\n".join(lines))
        [part] = parse(plan([Input(file, "ndjson")]))
    good = [number for number, one in enumerate(lines, start=1) if an_event(one)]
    bad = [one.line for one in numbered(part.reports)]
    assert sorted(good + bad) == list(range(1, len(lines) + 1))
    assert part.events.num_rows == len(good)
    expected = [json.loads(lines[number - 1]).get("partitions", []) for number in good]
    assert part.events["partitions"].to_pylist() == expected


@pytest.mark.parametrize(
    ("data", "lines"),
    [(line() + line() + b"\n", 1), (line()[:60] + b"\n" + line()[60:] + b"\n", 2), (b"null\n" + line() + b"\n", 1)],
    ids=["two on a line", "one on two lines", "null"],
)
def test_a_line_is_one_event(tmp_path: Path, data: bytes, lines: int) -> None:
    (tmp_path / "t.ndjson").write_bytes(data + line(seq=9) + b"\n")
    events, quarantined = read(tmp_path / "t.ndjson")
    assert [one.reason for one in quarantined] == ["not_json"] * lines
    assert events["seq"].to_pylist()[-1] == 9


def test_parquet_rows_are_held_to_the_same_schema(tmp_path: Path) -> None:
    file = tmp_path / "trace.parquet"
    events, _ = read(SAMPLES / "expelled.ndjson")
    rows = events.to_pylist()
    rows[3]["event"] = "danced"
    rows[5]["generation"] = -7
    rows[6]["event_code"] = 0
    pq.write_table(pa.Table.from_pylist(rows, schema=ARROW_SCHEMA), file)
    back, quarantined = read(file)
    assert back.num_rows == len(rows) - 3
    assert [(one.line, one.reason) for one in quarantined] == [(4, "bad_value"), (6, "bad_value"), (7, "bad_value")]


def test_a_parquet_file_of_before_throttles_were_recorded_tells_of_none(tmp_path: Path) -> None:
    events, _ = read(SAMPLES / "expelled.ndjson")
    pq.write_table(events.drop_columns(["throttle_time_ms"]), tmp_path / "trace.parquet")
    back, quarantined = read(tmp_path / "trace.parquet")
    assert (back.to_pylist(), quarantined) == (events.to_pylist(), [])


def test_rows_keep_their_numbers_where_a_row_group_is_more_than_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "trace.parquet"
    events, _ = read(SAMPLES / "expelled.ndjson")
    rows = events.to_pylist()
    bad = [3, 17, 30]
    for place in bad:
        rows[place]["event"] = "danced"
    pq.write_table(pa.Table.from_pylist(rows, schema=ARROW_SCHEMA), file, row_group_size=10)
    monkeypatch.setattr(reading, "CHUNK_BYTES", 700)
    parts = [part for chunk in reversed(plan(find_files([file]).files)) for part in parse([chunk])]
    assert len(parts) > 10
    assert [one.line for one in numbered(report for part in parts for report in part.reports)] == [n + 1 for n in bad]


@pytest.mark.parametrize("content", [b"PAR1 no", b""])
def test_a_parquet_file_that_is_none_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(UsageProblem, match="not a readable Parquet file"):
        plan(find_files([tmp_path]).files)


def test_a_foreign_parquet_file_is_an_error_that_names_what_it_lacks(tmp_path: Path) -> None:
    pq.write_table(pa.table({"run": ["r"]}), tmp_path / "x.parquet")
    with pytest.raises(UsageProblem, match="lacks the columns group"):
        plan(find_files([tmp_path]).files)


def test_a_missing_path_and_an_empty_folder_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="No such file"):
        find_files([tmp_path / "nowhere"])
    with pytest.raises(UsageProblem, match="no trace files"):
        find_files([tmp_path])


def test_a_config_line_keeps_its_settings(tmp_path: Path) -> None:
    settings_text = '{"rebalance":"eager","session_timeout_ms":6000,"max_poll_interval_ms":1,"unknown":[{"x":1}]}'
    (tmp_path / "t.ndjson").write_bytes(line(event="config", detail=msgspec.json.decode(settings_text)) + b"\n")
    events, quarantined = read(tmp_path / "t.ndjson")
    assert (events["detail"].to_pylist(), quarantined) == ([settings_text], [])


@pytest.mark.parametrize("name", ["session_timeout_ms", "max_poll_interval_ms", "heartbeat_interval_ms"])
def test_a_setting_that_kafka_could_not_hold_is_quarantined(tmp_path: Path, name: str) -> None:
    """Kafka's are INT. One of 64 bits became an OverflowError of the columns (found by the fuzzer)."""
    settings = {"rebalance": "eager", "session_timeout_ms": 6000, "max_poll_interval_ms": 1, name: 2**63 // 1000 + 1}
    (tmp_path / "t.ndjson").write_bytes(line(event="config", detail=settings) + b"\n")
    events, quarantined = read(tmp_path / "t.ndjson")
    assert (events.num_rows, [each.reason for each in quarantined]) == (0, ["bad_value"])
    assert name in quarantined[0].problem


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("event", [{"a": 1}] * 3, "event holds struct<a: int64>, not text"),
        ("detail", [1.5] * 3, "detail holds double, not text"),
        ("partitions", ["orders-0"] * 3, "partitions holds text, not lists of text"),
        ("at_us", [datetime(2026, 1, 1)] * 3, "at_us holds timestamp"),
    ],
)
def test_a_parquet_file_with_a_column_of_another_kind_is_an_error_that_names_it(
    tmp_path: Path, name: str, values: list[object], said: str
) -> None:
    events = read(SAMPLES / "expelled.ndjson")[0].slice(0, 3)
    pq.write_table(events.set_column(events.column_names.index(name), name, pa.array(values)), tmp_path / "t.parquet")
    with pytest.raises(UsageProblem, match=said):
        plan(find_files([tmp_path]).files)


def test_of_a_damaged_parquet_file_the_row_groups_before_and_behind_the_damage_are_read(tmp_path: Path) -> None:
    events, _ = read(SAMPLES / "expelled.ndjson")
    file = tmp_path / "t.parquet"
    pq.write_table(events, file, row_group_size=10, compression="none", use_dictionary=False)
    start, end = (pq.ParquetFile(file).metadata.row_group(at).column(0).data_page_offset for at in (1, 2))
    data = bytearray(file.read_bytes())
    data[start:end] = b"\xff" * (end - start)
    file.write_bytes(data)
    back, quarantined = read(file)
    whole = events["seq"].to_pylist()
    assert back["seq"].to_pylist() == whole[:10] + whole[20:]
    assert [one.reason for one in quarantined] == ["damaged"]


def test_a_text_that_stands_in_many_rows_is_not_unpacked_before_it_is_known_how_much_it_is(tmp_path: Path) -> None:
    events = pa.concat_tables([read(SAMPLES / "expelled.ndjson")[0]] * 10)
    long = pa.DictionaryArray.from_arrays(pa.array([0] * len(events), pa.int32()), pa.array(["x" * 2**22]))
    pq.write_table(events.set_column(0, "run", long), tmp_path / "t.parquet")
    _, quarantined = read(tmp_path / "t.parquet")
    assert ("damaged", True) in [(one.reason, "times the file's size" in one.problem) for one in quarantined]
