"""Messages to bytes and back, in every version, for both sides of a connection.

A message knows no version (`groupspec.impl.core.messages`). A field that a version lacks is left out on the way out,
and has its default on the way in. "Frames" here are without their length prefix: `groupspec.impl.network.frames` has
that.

Every complaint about bytes is a `CodecError` that says which kind; see `groupspec.impl.network.errors`.
"""

from __future__ import annotations

import struct
from typing import Final
from uuid import UUID

from groupspec.impl.core.messages import FetchRequest, OffsetCommitRequest, OffsetFetchRequest, Request, Response
from groupspec.impl.network import wire
from groupspec.impl.network.errors import (
    MalformedMessage,
    RequestHeader,
    UnencodableMessage,
    UnknownErrorCode,
    UnservedRequest,
)
from groupspec.impl.network.fields import Context
from groupspec.impl.network.messages import EXCHANGES
from groupspec.impl.network.topic_ids import TopicIds
from groupspec.impl.network.versions import API_KEYS, API_NAMES, API_VERSIONS, THROTTLED_FROM, ApiVersionsResponse

Answer = Response | ApiVersionsResponse

_API_OF: Final = {exchange.request.kind: api for api, exchange in EXCHANGES.items()}
_API_ANSWERED_BY: Final = {exchange.response.kind: api for api, exchange in EXCHANGES.items()}
_NO_IDS: Final = TopicIds()
_THROTTLE_TIME: Final = struct.Struct(">i")  # of all answers that have one it is the first field
_HEADER_START: Final = struct.Struct(">hhi")  # API key, version, correlation id: the same in every header


def api_of(request: Request) -> str:
    """The API that a request belongs to: "JoinGroup" and so on."""
    return _API_OF[type(request)]


def ids_in(request: Request) -> TopicIds | None:
    """The ids by which a request can name its topics; None if it does not know that of each, or its API has none."""
    match request:
        case FetchRequest(offsets=asked) | OffsetCommitRequest(offsets=asked) | OffsetFetchRequest(partitions=asked):
            known = request.topic_ids
            if any(partition.topic not in known for partition in asked):
                return None
            found = TopicIds()
            for name, topic_id in known.items():
                found.learn(name, UUID(bytes=topic_id))
            return found
        case _:
            return None


# The client's side ---------------------------------------------------------------------------------------------------


def encode_request(
    request: Request, version: int, correlation_id: int, client_id: str | None, topic_ids: TopicIds = _NO_IDS
) -> bytes:
    """A request as bytes, with every field that its version has (rule W1). Raises UnencodableMessage."""
    api = api_of(request)
    _check_version(api, version)
    body = EXCHANGES[api].request.write(request, Context(version, topic_ids))
    return wire.encode_request(API_KEYS[api], version, correlation_id, client_id, body)


def decode_response(api: str, version: int, data: bytes, topic_ids: TopicIds = _NO_IDS) -> tuple[int, Answer]:
    """The correlation id and the answer. Raises MalformedMessage; UnknownErrorCode if only the error code is at fault.

    A broker that does not know the version of an ApiVersions request answers in version 0 (KIP-511): so does this.
    """
    _check_version(api, version)
    correlation_id, start = wire.decode_response_header(API_KEYS[api], version, data)
    if api == "ApiVersions" and version > 0 and data[start : start + 2] == b"\x00\x23":
        version = 0
    try:
        struct = wire.decode_response_body(API_KEYS[api], version, data, start)
    except wire.ErrorCodeNotKnown as problem:
        raise UnknownErrorCode(api, correlation_id, problem.code) from problem
    try:
        return correlation_id, EXCHANGES[api].response.read(struct, Context(version, topic_ids))
    except UnencodableMessage as problem:
        raise MalformedMessage(str(problem)) from problem


def throttle_time_ms(api: str, version: int, data: bytes) -> int:
    """For how long whoever is answered so must send nothing (KIP-219). For answers that can be decoded."""
    if version < THROTTLED_FROM.get(api, version + 1):
        return 0
    _, start = wire.decode_response_header(API_KEYS[api], version, data)
    (duration_ms,) = _THROTTLE_TIME.unpack_from(data, start)
    return int(duration_ms)


# The broker's side ---------------------------------------------------------------------------------------------------


def decode_request(data: bytes, topic_ids: TopicIds = _NO_IDS) -> tuple[RequestHeader, Request]:
    """Header and request. Raises MalformedMessage; UnservedRequest if it is not in API_VERSIONS."""
    header = read_header(data)
    if header.api not in API_VERSIONS:
        raise UnservedRequest(header, f"served are {', '.join(API_VERSIONS)}")
    if header.version not in API_VERSIONS[header.api]:
        raise UnservedRequest(header, f"served are versions {API_VERSIONS[header.api]}")
    struct = wire.decode_request(API_KEYS[header.api], header.version, data)
    try:
        return header, EXCHANGES[header.api].request.read(struct, Context(header.version, topic_ids))
    except UnencodableMessage as problem:
        raise MalformedMessage(str(problem)) from problem


def read_header(data: bytes) -> RequestHeader:
    """The part of a header that is the same in all versions of all APIs. Raises MalformedMessage."""
    if len(data) < _HEADER_START.size:
        raise MalformedMessage(f"a request of {len(data)} bytes: its header alone has {_HEADER_START.size} or more")
    key, version, correlation_id = _HEADER_START.unpack_from(data)
    return RequestHeader(API_NAMES.get(key, str(key)), version, correlation_id, _client_id(data))


def _client_id(data: bytes) -> str | None:
    """Stands behind the correlation id in every version but the one that brokers alone use."""
    start = _HEADER_START.size + 2
    length = int.from_bytes(data[_HEADER_START.size : start], "big", signed=True)
    if length < 0 or start + length > len(data):
        return None
    return data[start : start + length].decode(errors="replace")


def encode_response(
    response: Answer,
    version: int,
    correlation_id: int,
    api: str | None = None,
    request: Request | None = None,
    topic_ids: TopicIds = _NO_IDS,
    throttle_time_ms: int = 0,
) -> bytes:
    """An answer as bytes. Raises UnencodableMessage.

    `request`: what is being answered; new versions repeat its member, key or group id in the answer.
    """
    api = api or _API_ANSWERED_BY.get(type(response))
    if api is None:
        raise UnencodableMessage(f"{response!r} is no answer that a broker gives")
    _check_version(api, version)
    if not isinstance(response, EXCHANGES[api].response.kind):
        raise UnencodableMessage(f"{api} can't be answered with {response!r}")
    body = EXCHANGES[api].response.write(response, Context(version, topic_ids, request))
    return wire.encode_response(API_KEYS[api], version, correlation_id, body, throttle_time_ms)


def _check_version(api: str, version: int) -> None:
    if version not in API_VERSIONS[api]:
        raise UnencodableMessage(f"{api} version {version}: known are {API_VERSIONS[api]}")
