"""What can be wrong with bytes from a peer.

All of it is a CodecError; nothing else leaves the codec because of bytes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """What stands before every request. `api` is the API's name, or its number if the name is not known."""

    api: str
    version: int
    correlation_id: int
    client_id: str | None


class CodecError(Exception):
    """Bytes that make no sense here, or a message that can't become bytes."""


class FrameTooLarge(CodecError):
    """A length prefix beyond the limit, or below zero. Nothing was allocated; the connection has to be closed."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(
            f"a frame announces {length} bytes; from 0 to {limit} are allowed: the other side does not speak "
            "Kafka's protocol"
        )
        self.length = length


class MalformedMessage(CodecError):
    """A message that contradicts its own schema: cut off, too long, or with a value that its field can't have."""


class CorruptBatch(CodecError):
    """Records that contradict themselves, of whichever format: a length, a checksum, what is packed."""


class UnknownErrorCode(MalformedMessage):
    """An answer with an error code that no version of the protocol has. Its header was fine."""

    def __init__(self, api: str, correlation_id: int, code: int) -> None:
        super().__init__(f"{api}: the answer to request {correlation_id} has error code {code}, which is unknown")
        self.correlation_id = correlation_id
        self.code = code


class UnservedRequest(CodecError):
    """A request for an API, or in a version of it, that this codec does not speak. Its header could be read."""

    def __init__(self, header: RequestHeader, allowed: str) -> None:
        super().__init__(f"{header.api} version {header.version} from {header.client_id!r} is not served; {allowed}")
        self.header = header


class UnencodableMessage(CodecError):
    """A message that has no form in the version asked for."""
