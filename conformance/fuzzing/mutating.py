"""What becomes of good bytes on the way here: a few changes, drawn from a seed."""

from __future__ import annotations

import re
from random import Random
from typing import Final

CLAIMS: Final = (
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x7f\xff\xff\xff",
    b"\x7f\xff",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xfe",
    b"\x80\x00\x00\x00\x00\x00\x00\x00",
    b"\x00",
    b"\x00\x0f\x42\x40",
)
"""Lengths and numbers that lie: the largest and the least that there are, null, none, a million."""

_DEPTH: Final = 2_500
_NUMBER: Final = re.compile(rb"-?\d+(\.\d+)?")
_NUMBERS: Final = (b"-1", b"0", b"9223372036854775808", b"18446744073709551616", b"1e308", b"-1e308", b"1e999", b"0.5")
_VALUE: Final = re.compile(rb'(?<=:)\s*("(\\.|[^"\\])*"|[\d.]+|true|null|\[|\{)')
_VALUES: Final = (
    b"null",
    b"[]",
    b"{}",
    b'""',
    b"[" * _DEPTH + b"]" * _DEPTH,
    b'{"a":' * _DEPTH + b"1" + b"}" * _DEPTH,
    b'"' + b"x" * 5_000 + b'"',
    b'"\\u0000\\u001b[31m"',
    b'"\xff\xfe"',
    b'"\\ud800"',
)


def changed(data: bytes, random: Random) -> bytes:
    """Some bytes of it are others, gone, or too many."""
    changes = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        random.choice(_BINARY)(changes, random)
    return bytes(changes)


def changed_text(data: bytes, random: Random) -> bytes:
    """The same of lines of text, in which also values are of other kinds, and nested too deep."""
    lines = data.splitlines(keepends=True)
    for _ in range(random.choice((1, 1, 2, 4))):
        if not lines:
            break
        at = random.randrange(len(lines))
        how = random.randrange(8)
        if how == 0:
            lines[at] = changed(lines[at], random)
        elif how == 1:
            lines.insert(at, lines[random.randrange(len(lines))])
        elif how == 2:
            del lines[at]
        elif how == 3:
            lines[at] = b"[" * _DEPTH + b"]" * random.choice((0, _DEPTH)) + b"\n"
        elif how < 6:
            lines[at] = _replaced(lines[at], _NUMBER, random.choice(_NUMBERS), random)
        else:
            lines[at] = _replaced(lines[at], _VALUE, random.choice(_VALUES), random)
    return b"".join(lines)


def _replaced(line: bytes, what: re.Pattern[bytes], by: bytes, random: Random) -> bytes:
    places = [found.span() for found in what.finditer(line)]
    if not places:
        return line
    start, end = random.choice(places)
    return line[:start] + by + line[end:]


def _flip(data: bytearray, random: Random) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _set(data: bytearray, random: Random) -> None:
    if data:
        data[random.randrange(len(data))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))


def _claim(data: bytearray, random: Random) -> None:
    claim, at = random.choice(CLAIMS), random.randrange(len(data) + 1)
    data[at : at + random.choice((0, 1, len(claim)))] = claim


def _cut(data: bytearray, random: Random) -> None:
    del data[random.randrange(len(data) + 1) :]


def _remove(data: bytearray, random: Random) -> None:
    at = random.randrange(len(data) + 1)
    del data[at : at + random.randrange(1, 9)]


def _repeat(data: bytearray, random: Random) -> None:
    at = random.randrange(len(data) + 1)
    data[at:at] = data[at : at + random.randrange(1, 40)] * random.choice((1, 2, 50))


_BINARY: Final = (_flip, _flip, _set, _claim, _claim, _cut, _remove, _repeat)
