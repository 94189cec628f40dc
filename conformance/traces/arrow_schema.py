"""The trace schema as the columns of a Parquet file (`schema` says what they mean)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from groupspec.conformance.traces.schema import VERSION

# Strings are dictionary encoded: a trace repeats few of them very often.
_TEXT: Final = pa.dictionary(pa.int32(), pa.string())


ARROW_SCHEMA: Final = pa.schema(
    [
        pa.field("run", _TEXT, nullable=False),
        pa.field("group", _TEXT, nullable=False),
        pa.field("member", _TEXT, nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("at_us", pa.int64(), nullable=False),
        pa.field("source", _TEXT, nullable=False),
        pa.field("event", _TEXT, nullable=False),
        pa.field("event_code", pa.int8(), nullable=False),
        pa.field("error", _TEXT, nullable=True),
        pa.field("generation", pa.int32(), nullable=False),
        pa.field("member_id", _TEXT, nullable=False),
        pa.field("partitions", pa.list_(pa.string()), nullable=False),
        pa.field("process", _TEXT, nullable=False),
        pa.field("detail", pa.string(), nullable=True),
    ],
    metadata={"groupspec.trace.version": str(VERSION)},
)
