"""Frames: what stands between the length prefixes of a TCP stream."""

from __future__ import annotations

import struct
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

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that are complete with this data. Raises FrameTooLarge; the stream is then beyond repair.

        Frames that were complete before the bad one are lost with it: call `feed` with small pieces if they matter.
        """
        self._buffer += data
        frames = []
        start = 0
        while len(self._buffer) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer, start)
            if not 0 <= length <= self._limit:
                raise FrameTooLarge(length, self._limit)
            end = start + _LENGTH.size + length
            if len(self._buffer) < end:
                break
            frames.append(bytes(self._buffer[start + _LENGTH.size : end]))
            start = end
        del self._buffer[:start]
        return frames

    @property
    def unfinished(self) -> bytes:
        """What came after the last complete frame: not empty at the end of a stream means half a frame."""
        return bytes(self._buffer)
