"""Frames: what stands between the length prefixes of a TCP stream."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from groupspec.impl.network.errors import FrameTooLarge

_LENGTH: Final = struct.Struct(">i")

DEFAULT_LIMIT: Final = 100 * 1024 * 1024
"""As Kafka's socket.request.max.bytes: bytes in one frame."""


def framed(message: bytes) -> bytes:
    """A message with its length prefix."""
    return _LENGTH.pack(len(message)) + message


class FrameReader:
    """Cuts a stream into frames. Nothing is allocated on the word of a length prefix alone."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes | memoryview) -> Iterator[bytes]:
        """The frames that are complete with this data. Raises FrameTooLarge after the last good one.

        The stream is beyond repair then. Iterate to the end: what is not iterated over is not read.
        """
        self._buffer += data
        start = 0
        try:
            while len(self._buffer) - start >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(self._buffer, start)
                if not 0 <= length <= self._limit:
                    raise FrameTooLarge(length, self._limit)
                begin, end = start + _LENGTH.size, start + _LENGTH.size + length
                if len(self._buffer) < end:
                    break
                start = end
                yield bytes(memoryview(self._buffer)[begin:end])  # one copy; a slice of the buffer would be another
        finally:
            del self._buffer[:start]

    @property
    def unfinished(self) -> bytes:
        """What came after the last complete frame: not empty at the end of a stream means half a frame."""
        return bytes(self._buffer)
