"""Unpacking gzip as far as it goes: recorders are killed, and disks fill up, in the middle of a compressed file.

Python's `gzip` raises at the first damage and loses what it had unpacked in the same call. Here everything that can be
unpacked comes first, and then what is wrong. A file may hold several gzip members, one after the other, and end in zero
bytes.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, Literal, NamedTuple

from groupspec.conformance.outside import MOST_LINE_BYTES, MOST_TIMES, lines_of, too_many_times

GZIP_MAGIC: Final = b"\x1f\x8b"
_READ_BYTES: Final = 32 * 1024  # of which 33 MB may come
_GZIP: Final = 31  # zlib's wbits for a gzip header and trailer


class Damage(NamedTuple):
    """Why unpacking stopped before the end of the file, and the line in which it did, as far as that could be had."""

    reason: Literal["truncated", "damaged"]
    problem: str
    line: bytes = b""


def unpacked_lines(path: Path) -> Iterator[bytes | Damage]:
    """The lines of a file with their line ends, unpacked if it is packed by gzip; last, if there is any, the damage."""
    with path.open("rb") as file:
        if not file.peek(2).startswith(GZIP_MAGIC):
            yield from lines_of(file)
            return
        rest = b""
        for piece in unpack(file):
            if isinstance(piece, Damage):
                whole = rest.endswith(b"\n")
                if whole:
                    yield rest
                yield piece._replace(line=b"" if whole else rest)
                return
            if piece:
                *lines, rest = io.BytesIO(rest + piece)
                yield from lines
                if len(rest) > MOST_LINE_BYTES:
                    yield rest
                    rest = b""
        if rest:
            yield rest


def unpack(file: BinaryIO) -> Iterator[bytes | Damage]:
    """The unpacked bytes, piece by piece; last, if there is any, the damage."""
    decoder, begun = zlib.decompressobj(_GZIP), False
    read = unpacked = 0
    while data := file.read(_READ_BYTES):
        read += len(data)
        while data:
            data = data if begun else data.lstrip(b"\0")
            before, begun = decoder.copy(), begun or bool(data)
            try:
                piece = decoder.decompress(data)
            except zlib.error as error:
                yield from _last_bytes(before, data)
                yield Damage("damaged", f"the compressed data is damaged here, and the rest of the file lost: {error}")
                return
            unpacked += len(piece)
            if too_many_times(read, unpacked):
                yield Damage("damaged", f"more than {MOST_TIMES} times the file's size comes out of it: no trace")
                return
            if piece:
                yield piece
            data = decoder.unused_data
            if decoder.eof:
                decoder, begun = zlib.decompressobj(_GZIP), False
    if begun:
        yield Damage("truncated", "the compressed file ends in the middle: what followed here is lost")


def _last_bytes(decoder: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """What can be unpacked before the damage."""
    try:
        for place in range(len(data)):
            yield decoder.decompress(data[place : place + 1])
    except zlib.error:
        return
