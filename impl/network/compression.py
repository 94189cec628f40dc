"""Compressed records: how large they become is seen before they are unpacked; few bytes can stand for gigabytes.

What a codec can make of so many bytes at most is seen in its block headers, for nearly every batch without unpacking
it. Where that does not settle it, it is unpacked as far as the limit once, to see whether it ends before.

Java's consumer has no such limit, and ends with an OutOfMemoryError. librdkafka has receive.message.max.bytes, 100 MB
(rdkafka_zstd.c).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final

import cramjam
from aiokafka.codec import gzip_decode

LIMIT: Final = 100 * 1024 * 1024

_GZIP, _SNAPPY, _LZ4, _ZSTD = 1, 2, 3, 4
_GZIP_RATIO: Final = 1032  # deflate's best: 258 bytes for two bits
_LZ4_RATIO: Final = 255
_LZ4_MAGIC: Final = 0x184D2204
_ZSTD_MAGIC: Final = 0xFD2FB528
_ZSTD_BLOCK: Final = 128 * 1024
_LITTLE: Final = struct.Struct("<I")
_BIG: Final = struct.Struct(">I")
_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = 16


class TooLarge(ValueError):
    """More than the limit would come out."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"compressed records that are more than {limit} bytes when they are unpacked, or never end")


def unpacked(codec: int, data: bytes | memoryview, limit: int = LIMIT) -> bytes:
    """What this holds. Raises TooLarge, ValueError for a codec that nobody knows, and what the codec raises."""
    check_size(codec, data, limit)
    if codec == _GZIP:
        return bytes(gzip_decode(data))
    if codec == _SNAPPY:
        return b"".join(bytes(cramjam.snappy.decompress_raw(block)) for block in _snappy_blocks(memoryview(data)))
    if codec in (_LZ4, _ZSTD):
        return bytes((cramjam.lz4 if codec == _LZ4 else cramjam.zstd).decompress(data))
    raise ValueError(f"compression codec {codec} is not known; 1 to 4 are: gzip, snappy, lz4, zstd")


def check_size(codec: int, data: bytes | memoryview, limit: int = LIMIT) -> None:
    """Raises TooLarge if this becomes more than `limit` bytes; whatever the codec raises if it is broken."""
    data = memoryview(data)
    try:
        if _at_most(codec, data) <= limit:
            return
    except (struct.error, IndexError):
        pass  # cut off: what stands before that may be large
    if codec == _GZIP:
        _check_gzip(data, limit)
    elif codec == _SNAPPY:
        raise TooLarge(limit)  # it begins with its size, and the codec goes by that
    elif codec in (_LZ4, _ZSTD):
        into = (cramjam.lz4 if codec == _LZ4 else cramjam.zstd).decompress_into
        try:
            into(data, bytearray(limit))
        except cramjam.DecompressionError as problem:
            raise TooLarge(limit) from problem


def _at_most(codec: int, data: memoryview) -> int:
    """No more than so many bytes can come out; a codec that is not known makes nothing."""
    if codec == _GZIP:
        return len(data) * _GZIP_RATIO
    if codec == _SNAPPY:
        return _snappy_size(data)
    if codec == _LZ4:
        return min(len(data) * _LZ4_RATIO, _lz4_bound(data))
    return _zstd_bound(data) if codec == _ZSTD else 0


def _check_gzip(data: memoryview, limit: int) -> None:
    """Members may follow each other."""
    rest, left = bytes(data), limit
    while rest:
        member = zlib.decompressobj(wbits=31)
        left -= len(member.decompress(rest, left + 1))
        if left < 0:
            raise TooLarge(limit)
        if not member.eof:
            return  # cut off
        rest = member.unused_data


def _snappy_size(data: memoryview) -> int:
    return sum(_varint(block) for block in _snappy_blocks(data))


def _snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    """One block, or those of Java's stream with the length of each before it; a block begins with its real size."""
    if bytes(data[: len(_XERIAL)]) != _XERIAL:
        yield data
        return
    at = _XERIAL_HEADER
    while at < len(data):
        (length,) = _BIG.unpack_from(data, at)
        at += _BIG.size
        yield data[at : at + length]
        at += length


def _varint(data: memoryview) -> int:
    value = 0
    for place in range(5):
        value |= (data[place] & 0x7F) << (7 * place)
        if data[place] < 0x80:
            break
    return value


def _lz4_bound(data: memoryview) -> int:
    """LZ4 frame format: magic, flags, size of a block, maybe size of the content, checksum; blocks; a zero."""
    flags, block_size = data[4], 1 << (8 + 2 * (data[5] >> 4 & 7))
    if _LITTLE.unpack_from(data)[0] != _LZ4_MAGIC or flags & 1:
        return len(data) * _LZ4_RATIO
    at, bound = 15 if flags & 8 else 7, 0
    while length := _LITTLE.unpack_from(data, at)[0] & 0x7FFFFFFF:
        bound += min(block_size, length * _LZ4_RATIO)
        at += _LITTLE.size + length + (4 if flags & 16 else 0)
    at += _LITTLE.size + (4 if flags & 4 else 0)
    return bound if at >= len(data) else bound + (len(data) - at) * _LZ4_RATIO


def _zstd_bound(data: memoryview) -> int:
    """RFC 8878, 3.1.1: no block becomes more than 128 KiB. Frames may follow each other."""
    at, bound = 0, 0
    while at < len(data):
        if _LITTLE.unpack_from(data, at)[0] != _ZSTD_MAGIC:
            return bound + (len(data) - at) * _ZSTD_BLOCK
        descriptor = data[at + 4]
        at += 5 + _zstd_header_rest(descriptor)
        last = False
        while not last:
            header = data[at] | data[at + 1] << 8 | data[at + 2] << 16
            last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
            bound += _ZSTD_BLOCK if kind == 2 else size
            at += 3 + (1 if kind == 1 else size)
        at += 4 if descriptor & 4 else 0
    return bound


def _zstd_header_rest(descriptor: int) -> int:
    """Bytes behind the frame header's descriptor: window, dictionary id, content size."""
    single, dictionary, content = descriptor >> 5 & 1, descriptor & 3, descriptor >> 6
    return (not single) + (0, 1, 2, 4)[dictionary] + ((1 if single else 0), 2, 4, 8)[content]
