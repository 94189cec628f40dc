"""The doors: what takes bytes from outside, good bytes to begin with, and how each may refuse.

One case of a door is a function of its number: the same bytes on each machine.
"""

from __future__ import annotations

import gzip
import io
import json
import tempfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from groupspec.conformance.errors import InconclusiveProblem, UsageProblem
from groupspec.conformance.fuzzing import messages
from groupspec.conformance.fuzzing.mutating import changed, changed_text
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.reports.comparison import compare
from groupspec.conformance.reports.inputs import Conform, read
from groupspec.conformance.traces.dialects.times import Clock
from groupspec.conformance.traces.engine import check
from groupspec.conformance.traces.quarantine import parse_line
from groupspec.conformance.traces.reading import to_table
from groupspec.conformance.traces.why import Question, as_json, explain_logs
from groupspec.conformance.wire.recording import judge_recording, load
from groupspec.impl.core.messages import FetchResponse, TopicPartition
from groupspec.impl.core.protocol import (
    Assignment,
    MalformedProtocolData,
    Subscription,
    decode_assignment,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from groupspec.impl.network import wire
from groupspec.impl.network.addresses import told_otherwise
from groupspec.impl.network.codec import decode_request, decode_response, throttle_time_ms
from groupspec.impl.network.errors import CodecError
from groupspec.impl.network.frames import FrameReader, framed
from groupspec.impl.network.records import decode_records
from groupspec.impl.network.versions import API_KEYS

CONFORMANCE: Final = Path(__file__).resolve().parents[1]
_GZIP_HEADER: Final = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
_PARTITION: Final = TopicPartition("orders", 0)


@dataclass(frozen=True)
class Door:
    """One of them.

    Attributes:
        attack: Takes the random numbers of one case to the door.
        refusals: What it may raise; anything else is a defect, and so is what ends or holds up the process.
    """

    attack: Callable[[Random], object]
    refusals: tuple[type[Exception], ...]


# Frames --------------------------------------------------------------------------------------------------------------


def _request(random: Random) -> None:
    _, _, frame = messages.a_request(random)
    decode_request(changed(frame, random))


def _answer(random: Random) -> None:
    api, version, frame = messages.an_answer(random)
    bad = changed(frame, random)
    _, answer = decode_response(api, version, bad)
    throttle_time_ms(api, version, bad)
    if isinstance(answer, FetchResponse):
        for partition, part in answer.partitions.items():
            decode_records(partition, part.record_bytes, 0, part.aborted_transactions)


def _renamed_answer(random: Random) -> None:
    api, version, frame = messages.an_answer(random)
    told_otherwise(API_KEYS[api], version, changed(frame, random), lambda node, address: ("127.0.0.1", 1 + node % 9))


def _other_api(random: Random) -> None:
    """What a proxy meets: an API that nothing here speaks."""
    key, version = random.randrange(70), random.randrange(12)
    try:
        wire.load_response_schema(key, version)
    except Exception:  # kio has no such class
        return
    wire.decode_response_body(key, version, random.randbytes(random.randrange(60)), 0)


def _stream(random: Random) -> None:
    data = b"".join(framed(random.randbytes(random.randrange(30))) for _ in range(3))
    list(FrameReader(random.choice((20, 2**20))).feed(changed(data, random)))


def _records(random: Random) -> None:
    decode_records(_PARTITION, changed(_batches(random), random), random.randrange(3), check_crcs=random.random() < 0.2)


def _batches(random: Random) -> bytes:
    """Of each codec; packed ones with what packs to nothing."""
    from aiokafka.record.default_records import DefaultRecordBatchBuilder
    from aiokafka.record.legacy_records import LegacyRecordBatchBuilder

    codec, value = random.randrange(5), random.choice((b"v", bytes(200_000), random.randbytes(50)))
    if random.random() < 0.7:
        batch = DefaultRecordBatchBuilder(2, codec, random.randrange(2), 7, 0, 0, 2**30)
        for at in range(random.randrange(1, 4)):
            batch.append(at, timestamp=at, key=b"k", value=value, headers=[("h", b"x")])
        return bytes(batch.build())
    old = LegacyRecordBatchBuilder(random.randrange(2), random.randrange(3), 2**30)
    for at in range(random.randrange(1, 4)):
        old.append(at, timestamp=at, key=b"k", value=value)
    return bytes(old.build())


def _blob(random: Random) -> None:
    parts = tuple(TopicPartition("orders", at) for at in range(random.randrange(4)))
    if random.random() < 0.5:
        decode_assignment(changed(encode_assignment(Assignment(parts)), random))
        return
    told = encode_subscription(Subscription(("orders",), b"user", parts, 4, "rack"), random.randrange(4))
    decode_sticky_user_data(decode_subscription(changed(told, random)).user_data)


# Files and lines -----------------------------------------------------------------------------------------------------


@cache
def _samples(pattern: str) -> tuple[bytes, ...]:
    """The smaller ones of these files, unpacked."""
    found = sorted(CONFORMANCE.glob(pattern), key=lambda file: (file.stat().st_size, file.name))[:8]
    return tuple(gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes() for file in found)


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """Where cases put their files. Whoever makes it removes it: a process that is killed could not."""
    return tempfile.TemporaryDirectory(prefix="groupspec-fuzzing-")


def _as_file(data: bytes, name: str, random: Random) -> Path:
    """Packed now and then, and then damaged, or a bomb."""
    how = random.randrange(12)
    if how < 3 and name.endswith(".ndjson"):
        name += ".gz"
        data = _bomb() if how == 0 else gzip.compress(data, 1, mtime=0)
        data = changed(data, random) if how == 1 else data
    file = Path(folder().name, name)
    file.write_bytes(data)
    return file


@cache
def _bomb() -> bytes:
    """A gibibyte in a megabyte: one block again and again."""
    packing = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packing.compress(bytes(2**20)) + packing.flush(zlib.Z_FULL_FLUSH)
    return _GZIP_HEADER + block * 1024


def _recording(random: Random) -> None:
    data = changed_text(random.choice(_samples("wire/recorded/*/*.ndjson.gz")), random)
    file = _as_file(data, "log.ndjson", random)
    judge_recording(load(file), file)


def _trace(random: Random) -> None:
    data = changed_text(random.choice(_samples("traces/samples/*.ndjson")), random)
    check([_as_file(data, "trace.ndjson", random)])


def _parquet(random: Random) -> None:
    """Bytes that are damaged, or a column of another kind, or a text that comes to much in all rows."""
    events = _events_of_a_trace()
    if random.random() < 0.3:
        name = random.choice(events.column_names)
        value = random.choice((None, 1.5, True, "{", "1]", "x" * 2**20, b"\xff", 2**63 - 1, [["x"]], {"a": [1]}))
        events = events.set_column(events.column_names.index(name), name, _alike(value, events.num_rows))
    written = io.BytesIO()
    pq.write_table(events, written)
    data = written.getvalue() if random.random() < 0.2 else changed(written.getvalue(), random)
    check([_as_file(data, "trace.parquet", random)])


def _alike(value: object, rows: int) -> pa.Array:
    """A column of one value; a long text stands in it once."""
    if isinstance(value, str):
        return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([value]))
    return pa.array([value] * rows)


@cache
def _events_of_a_trace() -> pa.Table:
    lines = _samples("traces/samples/*.ndjson")[0].splitlines(keepends=True)
    return to_table([parse_line(line) for line in lines[:50]] * 20)


def _log(random: Random) -> None:
    data = changed_text(random.choice(_logs()), random)
    as_json(explain_logs(Question(None), [_as_file(data, "broker.log", random)], Clock()), 0.0)


@cache
def _logs() -> tuple[bytes, ...]:
    """As they are, and as collectors wrap them in JSON."""
    plain = tuple(b"".join(log.splitlines(keepends=True)[:400]) for log in _samples("traces/captures/*/broker.log"))
    return plain + tuple(
        b"".join(json.dumps({"message": line.decode(), "result": "r"}).encode() + b"\n" for line in log.splitlines())
        for log in plain[:2]
    )


def _harness_line(random: Random) -> None:
    protocol.decode_event(changed_text(random.choice(_events()), random))


@cache
def _events() -> tuple[bytes, ...]:
    lines = (json.loads(line) for data in _samples("wire/recorded/*/*.ndjson.gz") for line in data.splitlines())
    return tuple(sorted({json.dumps(line["event"]).encode() for line in lines if line.get("event")}))


def _result(random: Random) -> None:
    row = dict.fromkeys(("scenario", "rule", "level", "verdict", "reason", "replay"), "J1") | {"at_ms": 1.5}
    data = {"clients": [{"name": "a", "version": "1", "results": [row]}], "seconds": 1.5, "seed": 7}
    result = read(_as_file(changed_text(json.dumps(data).encode(), random), "conform.json", random), Conform)
    compare(result, result).as_json()


_OF_FILES: Final = (UsageProblem, InconclusiveProblem)

DOORS: Final[Mapping[str, Door]] = {
    "request": Door(_request, (CodecError,)),
    "answer": Door(_answer, (CodecError,)),
    "proxied-answer": Door(_renamed_answer, (CodecError,)),
    "other-api": Door(_other_api, (CodecError,)),
    "stream": Door(_stream, (CodecError,)),
    "records": Door(_records, ()),
    "blob": Door(_blob, (MalformedProtocolData,)),
    "recording": Door(_recording, _OF_FILES),
    "trace": Door(_trace, _OF_FILES),
    "parquet": Door(_parquet, _OF_FILES),
    "log": Door(_log, _OF_FILES),
    "harness-line": Door(_harness_line, (protocol.BrokenLine,)),
    "result": Door(_result, _OF_FILES),
}
FRAMES: Final = ("request", "answer", "proxied-answer", "other-api", "stream", "records", "blob")
