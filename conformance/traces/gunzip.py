"""Unpacking gzip as far as it goes: recorders are killed, and disks fill up, in the middle of a compressed file.

Python's `gzip` raises at the first damage and loses what it had unpacked in the same call. Here everything that can be
unpacked comes first, and then what is wrong. A file may hold several gzip members, one after the other, and end in zero
bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final, Literal, NamedTuple

_READ_BYTES: Final = 256 * 1024
_GZIP: Final = 31  # zlib's wbits for a gzip header and trailer


class Damage(NamedTuple):
    """Why unpacking stopped before the end of the file."""

    reason: Literal["truncated", "damaged"]
    problem: str


def unpack(file: BinaryIO) -> Iterator[bytes | Damage]:
    """The unpacked bytes, piece by piece; last, if there is any, the damage."""
    decoder, begun = zlib.decompressobj(_GZIP), False
    while data := file.read(_READ_BYTES):
        while data:
            data = data if begun else data.lstrip(b"\0")
            before, begun = decoder.copy(), begun or bool(data)
            try:
                piece = decoder.decompress(data)
            except zlib.error as error:
                yield from _last_bytes(before, data)
                yield Damage("damaged", f"the compressed data is damaged here, and the rest of the file lost: {error}")
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
