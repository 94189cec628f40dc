"""One connection of the kit's own to a broker, on which one request is out at a time."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from typing import Final

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.wire.live.tap import told
from groupspec.impl.core.messages import Request
from groupspec.impl.network import wire
from groupspec.impl.network.addresses import Address
from groupspec.impl.network.codec import api_of, decode_response, encode_request, ids_in
from groupspec.impl.network.errors import CodecError
from groupspec.impl.network.frames import FrameReader, framed
from groupspec.impl.network.topic_ids import TopicIds
from groupspec.impl.network.versions import API_KEYS, VersionRange
from groupspec.impl.network.wire import Fields, Struct

ANSWER_WITHIN_S: Final = 5.0
_AT_ONCE_S: Final = 0.001  # 0 would have another meaning
_CLIENT_ID: Final = "groupspec-conform"
_APIS: Final = {
    "Produce": (0, 3, 9),
    "CreateTopics": (19, 4, 7),
    "DeleteTopics": (20, 1, 5),
    "DeleteGroups": (42, 0, 2),
    "DescribeConfigs": (32, 1, 4),
    "DescribeGroups": (15, 0, 5),
}
"""API key, and the lowest and highest version that is written here."""


class Line:
    """One connection, on which one request is out at a time. Raises OSError, CodecError.

    Attributes:
        versions: Of the kit's own requests, each in the version that is used.
        served: Of a consumer's requests, the versions that the broker says it has.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._socket = socket.create_connection(address, ANSWER_WITHIN_S)
        self._frames = FrameReader()
        self._count = 0
        keys = self._ask(18, 0, {}).structs("api_keys")
        served = {each.get("api_key"): (each.get("min_version"), each.get("max_version")) for each in keys}
        self.served = {api: VersionRange(*served[key]) for api, key in API_KEYS.items() if key in served}
        self.versions = {
            name: min(highest, served[key][1])
            for name, (key, lowest, highest) in _APIS.items()
            if key in served and served[key][0] <= highest and lowest <= served[key][1]
        }

    def close(self) -> None:
        """End it."""
        self._socket.close()

    def ask(self, api: str, body: Fields) -> Struct:
        """One of the kit's own requests. Raises UsageProblem where the broker has no such API."""
        if api not in self.versions:
            raise UsageProblem(f"this broker has no {api}", where=told(self.address))
        return self._ask(_APIS[api][0], self.versions[api], body)

    def exchange(self, request: Request, version: int) -> object:
        """A request that a consumer could make, and its answer."""
        self._count += 1
        topic_ids = ids_in(request) or TopicIds()
        frame = self._answer(encode_request(request, version, self._count, _CLIENT_ID, topic_ids))
        return decode_response(api_of(request), version, frame, topic_ids)[1]

    def _ask(self, key: int, version: int, body: Fields) -> Struct:
        self._count += 1
        frame = self._answer(wire.encode_request(key, version, self._count, _CLIENT_ID, body))
        _, start = wire.decode_response_header(key, version, frame)
        return wire.decode_response_body(key, version, frame, start)

    def _answer(self, request: bytes) -> bytes:
        """A broker that sends a byte now and then has no longer than another."""
        until = time.monotonic() + ANSWER_WITHIN_S
        self._socket.settimeout(ANSWER_WITHIN_S)
        self._socket.sendall(framed(request))
        try:
            while data := self._socket.recv(65_536):
                for frame in self._frames.feed(data):
                    return frame
                self._socket.settimeout(max(until - time.monotonic(), _AT_ONCE_S))
        except TimeoutError:
            raise TimeoutError(f"no whole answer within {ANSWER_WITHIN_S:g} s") from None
        raise ConnectionError("the broker has closed the connection")


def first_that_answers(addresses: Sequence[Address]) -> Line:
    """A connection to the first of them that answers. Raises UsageProblem if none does."""
    problems = []
    for address in addresses:
        try:
            return Line(address)
        except (OSError, CodecError) as problem:
            problems.append(f"{told(address)}: {str(problem) or type(problem).__name__}")
    raise UsageProblem(
        "no Kafka broker answers there",
        where="; ".join(problems),
        allowed="HOST:PORT of a broker's listener without TLS and without authentication",
        next_step="start one, or correct the address; `groupspec broker up` starts one here",
    )
