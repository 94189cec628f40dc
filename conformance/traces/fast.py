"""The fast way to parse lines: Arrow's JSON reader for many lines at once, believed only without exception.

Arrow's reader knows types and unknown fields, but not ranges, closed lists, empty names or line ends; those are checked here,
on whole columns. Whatever is doubtful makes `parse` return None, and the caller reads the lines exactly, one by one. The field
`detail` has a free shape, which Arrow's reader cannot represent: it is cut out of the lines first, and put back as text.
"""

from __future__ import annotations

import io
import re
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from groupspec.conformance.traces.schema import ARROW_SCHEMA, EVENTS, SOURCES, VERSION, Settings, plain

_NOT_IN_LINE: Final = ("event_code", "detail")
_LINE_SCHEMA: Final = pa.schema(
    [
        pa.field("v", pa.int64()),
        *(pa.field(field.name, plain(field.type)) for field in ARROW_SCHEMA if field.name not in _NOT_IN_LINE),
    ]
)
_REQUIRED: Final = tuple(name for name in _LINE_SCHEMA.names if name != "error")
_OPTIONS: Final = pj.ParseOptions(explicit_schema=_LINE_SCHEMA, unexpected_field_behavior="error")
# The field `detail` at the end of a line, if nothing in it has braces.
_DETAIL: Final = re.compile(rb',[ \t]*"detail":[ \t]*(\{[^{}\n]*\})[ \t]*\}[ \t\r]*$', re.MULTILINE)
_SETTINGS: Final = msgspec.json.Decoder(Settings)
_OBJECT: Final = msgspec.json.Decoder(dict[str, object])

Ints = npt.NDArray[np.int64]


def parse(data: bytes) -> pa.Table | None:
    """Lines as a table of ARROW_SCHEMA; None when any of them may not be an event."""
    if not data:
        return ARROW_SCHEMA.empty_table()
    if not (data.isascii() or _is_utf8(data)):
        return None
    text, rows, details = _take_out_details(data)
    try:
        table = pj.read_json(
            io.BytesIO(text),
            parse_options=_OPTIONS,
            read_options=pj.ReadOptions(use_threads=False, block_size=len(text) + 1),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if not _one_event_a_line(text, table.num_rows):
        return None
    table = _encode(table)
    if not _within_schema(table):
        return None
    table = _complete(table, rows, details)
    return table if _details_hold(table, rows) else None


def _take_out_details(data: bytes) -> tuple[bytes, Ints, list[bytes]]:
    """The lines without their last field `detail`; the rows that had one; and these, as text.

    A detail with objects inside stays where it is. Arrow's reader then finds a field that it does not know, and the line is read
    exactly.
    """
    pieces = _DETAIL.split(data)
    between = pieces[0::2]
    rows = np.cumsum([piece.count(b"\n") for piece in between[:-1]], dtype=np.int64)
    return b"}".join(between), rows, pieces[1::2]


def _details_hold(table: pa.Table, rows: Ints) -> bool:
    """Whether each detail is an object and each config event has its settings; each distinct one is looked at once."""
    details = table.select(["event", "detail"]).take(pa.array(rows))
    configs = pc.equal(table["event"], "config")
    if pc.any(pc.and_(configs, pc.is_null(table["detail"]))).as_py():
        return False
    settings = details.filter(pc.equal(details["event"], "config"))["detail"]
    return _all_decode(settings, _SETTINGS) and _all_decode(details["detail"], _OBJECT)


def _all_decode(
    texts: pa.ChunkedArray, decoder: msgspec.json.Decoder[Settings] | msgspec.json.Decoder[dict[str, object]]
) -> bool:
    try:
        for text in texts.unique().to_pylist():
            decoder.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def _encode(table: pa.Table) -> pa.Table:
    """Texts as the schema wants them: each distinct one once."""
    for place, name in enumerate(table.schema.names):
        if pa.types.is_string(table.schema.field(place).type):
            table = table.set_column(place, name, table[name].dictionary_encode())
    return table.combine_chunks()


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _one_event_a_line(data: bytes, rows: int) -> bool:
    """Arrow also reads two objects on one line, and one object on two. Without nested objects, counting shows both."""
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    return lines == rows and data.count(b"\n{") + data.startswith(b"{") == rows


def _within_schema(table: pa.Table) -> bool:
    if any(table[name].null_count for name in _REQUIRED):
        return False
    return (
        _all(pc.equal(table["v"], VERSION))
        and _range_holds(table["seq"], 0)
        and _range_holds(table["at_us"], 0)
        and _range_holds(table["generation"], -1)
        and all(_values_in(table[name], allowed) for name, allowed in (("event", EVENTS), ("source", SOURCES)))
        and all(_no_empty_name(_distinct(table[name])) for name in ("run", "group", "member", "error"))
        and _no_empty_name(pc.list_flatten(table["partitions"]))
    )


def _all(booleans: pa.ChunkedArray) -> bool:
    return bool(pc.all(booleans).as_py())


def _range_holds(column: pa.ChunkedArray, least: int) -> bool:
    return bool(pc.min(column).as_py() >= least)


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays([chunk.dictionary for chunk in column.chunks])


def _values_in(column: pa.ChunkedArray, allowed: tuple[str, ...]) -> bool:
    return set(_distinct(column).to_pylist()) <= set(allowed)


def _no_empty_name(names: pa.Array | pa.ChunkedArray) -> bool:
    return names.null_count == 0 and not pc.any(pc.equal(names, "")).as_py()


def _complete(table: pa.Table, rows: Ints, details: list[bytes]) -> pa.Table:
    """The columns that Arrow's reader did not see: the event's number, and the details."""
    codes = [
        pa.DictionaryArray.from_arrays(chunk.indices, _codes_of(chunk.dictionary)).dictionary_decode()
        for chunk in table["event"].chunks
    ]
    columns = {
        "event_code": pa.chunked_array(codes, pa.int8()),
        "detail": _scatter(table.num_rows, rows, details),
    }
    arrays = [columns[name] if name in columns else table[name] for name in ARROW_SCHEMA.names]
    return pa.Table.from_arrays(arrays, schema=ARROW_SCHEMA)


def _scatter(count: int, rows: Ints, details: list[bytes]) -> pa.Array:
    if not details:
        return pa.nulls(count, pa.string())
    places = np.full(count, -1, np.int64)
    places[rows] = np.arange(len(rows))
    return pa.array(details, pa.binary()).cast(pa.string()).take(pa.array(places, mask=places < 0))


def _codes_of(names: pa.Array) -> pa.Array:
    return pc.index_in(names, pa.array(EVENTS)).cast(pa.int8())
