"""What comes from outside, and its bounds: files, and JSON in files, in logs and from harnesses.

Frames have theirs in `groupspec.impl.network`; lines of a harness also in `groupspec.conformance.wire.harness_process`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, AnyStr, Final, TypeVar

import msgspec

from groupspec.conformance.errors import UsageProblem

MOST_BYTES: Final = 64 * 1024 * 1024
"""In a file that is read as a whole, unpacked. A recorded run of 20 minutes has 10 MiB."""
MOST_LINE_BYTES: Final = 16 * 1024 * 1024
"""In a line; a longer one is taken to pieces, none of which is what it should be."""
MOST_TIMES: Final = 250
"""So many times its size may come out of a packed file. Traces and logs become 10 to 60 times as large, bombs 1,000."""

_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP: Final = 16 + zlib.MAX_WBITS
Value = TypeVar("Value")
Data = TypeVar("Data", bytes, str)


class TooDeep(msgspec.DecodeError):
    """JSON in which more is nested than Python can follow: some 1,000 arrays or objects."""


def contents(file: Path) -> bytes:
    """All that is in a file, unpacked if it is packed by gzip; of one that was cut short, what is left.

    Raises:
        UsageProblem: it is no regular file, or larger than MOST_BYTES.
        OSError: it cannot be read.
        zlib.error: it is packed, and damaged.
    """
    require_regular(file)
    with file.open("rb") as opened:
        data = opened.read(MOST_BYTES + 1)
    if data.startswith(_GZIP_MAGIC):
        data = zlib.decompressobj(_GZIP).decompress(data, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UsageProblem(
            "this file is larger than anything that groupspec writes there",
            where=str(file),
            allowed=f"{MOST_BYTES >> 20} MiB, unpacked",
            next_step="name the file that was meant",
        )
    return data


def require_regular(file: Path) -> None:
    """Refuses what has no end, or none yet. Raises UsageProblem."""
    if file.exists() and not file.is_file():
        raise UsageProblem(
            "this is no regular file",
            where=str(file),
            allowed="a file that has an end",
            next_step="write what comes out of the pipe to a file, and name that",
        )


def decoded(decode: Callable[[Data], Value], data: Data) -> Value:
    """What a decoder makes of JSON. Raises TooDeep in place of RecursionError, which nobody expects of data.

    Of a name that stands twice in an object the last one counts, as with most readers; RFC 8259 (section 4) leaves it
    open. To refuse it a line would have to be read a second time, with each of its objects in Python: that takes four
    times as long as the decoder does, for each line of a trace (3 and 13 us); and loggers do write a field twice.
    """
    try:
        return decode(data)
    except RecursionError:
        raise TooDeep("JSON is nested too deep") from None


def lines_of(stream: IO[AnyStr]) -> Iterator[AnyStr]:
    """The lines of a stream, in pieces where they are longer than MOST_LINE_BYTES."""
    while line := stream.readline(MOST_LINE_BYTES):
        yield line


def too_many_times(packed: int, unpacked: int) -> bool:
    """Whether so much of so little is no trace and no log."""
    return unpacked > max(MOST_BYTES, MOST_TIMES * packed)
