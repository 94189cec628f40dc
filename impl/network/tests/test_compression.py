"""Bounds on what compressed records become: never too low, close enough that ordinary batches are unpacked once."""

from __future__ import annotations

import contextlib
import gzip
import random
import zlib
from collections.abc import Callable
from typing import Final

import cramjam
import pytest
from aiokafka.codec import snappy_encode
from hypothesis import given
from hypothesis import strategies as st

from groupspec.impl.network import compression
from groupspec.impl.network.compression import LIMIT, TooLarge, check_size

LIMIT_HERE: Final = 1_000_000

PACKED: Final[dict[str, tuple[int, Callable[[bytes], bytes]]]] = {
    "gzip": (1, gzip.compress),
    "gzip, two members": (1, lambda data: gzip.compress(data[:7]) + gzip.compress(data[7:])),
    "snappy": (2, lambda data: bytes(cramjam.snappy.compress_raw(data))),
    "snappy as Java's": (2, snappy_encode),
    "lz4": (3, lambda data: bytes(cramjam.lz4.compress(data))),
    "lz4, blocks of 64 KiB": (3, lambda data: _lz4_in_blocks(data)),
    "zstd": (4, lambda data: bytes(cramjam.zstd.compress(data))),
    "zstd, two frames": (
        4,
        lambda data: bytes(cramjam.zstd.compress(data[:7])) + bytes(cramjam.zstd.compress(data[7:])),
    ),
}
"""Codec number and how to pack, by name."""

WAYS = pytest.mark.parametrize(("codec", "pack"), PACKED.values(), ids=PACKED)


def _lz4_in_blocks(data: bytes) -> bytes:
    compressor = cramjam.lz4.Compressor(level=1, content_checksum=True, block_linked=False)
    compressor.compress(data)
    return bytes(compressor.finish())


@WAYS
@given(st.binary(max_size=2_000), st.integers(1, 200))
def test_no_more_comes_out_than_the_bound_says(
    codec: int, pack: Callable[[bytes], bytes], data: bytes, times: int
) -> None:
    assert compression._at_most(codec, memoryview(pack(data * times))) >= len(data * times)
    check_size(codec, pack(data * times))


@WAYS
def test_a_bomb_is_refused_and_what_just_fits_is_not(codec: int, pack: Callable[[bytes], bytes]) -> None:
    check_size(codec, pack(bytes(LIMIT_HERE)), LIMIT_HERE)
    with pytest.raises(TooLarge, match="more than 1000000 bytes"):
        check_size(codec, pack(bytes(LIMIT_HERE + 1)), LIMIT_HERE)


@WAYS
def test_an_ordinary_batch_is_not_unpacked_to_see_how_large_it_is(codec: int, pack: Callable[[bytes], bytes]) -> None:
    words = random.Random(1).choices([b"order", b"customer", b"0123456789", b"x" * 30], k=60_000)
    assert len(b" ".join(words)) > 700_000
    packed = pack(b" ".join(words))
    if codec != 1 or len(packed) < LIMIT // 1032:
        assert compression._at_most(codec, memoryview(packed)) <= LIMIT


@WAYS
def test_any_bytes_end_in_one_of_three_ways(codec: int, pack: Callable[[bytes], bytes]) -> None:
    """Nothing, TooLarge, or what zlib raises; and soon."""
    good, choose = pack(bytes(5_000)), random.Random(2)
    for _ in range(300):
        bad = bytearray(good[: choose.randrange(1, len(good) + 1)])
        bad[choose.randrange(len(bad))] ^= choose.randrange(1, 256)
        with contextlib.suppress(TooLarge, zlib.error):
            check_size(codec, bytes(bad), LIMIT_HERE)


def test_what_is_not_compressed_has_no_bound() -> None:
    check_size(0, b"\xff" * 100)
