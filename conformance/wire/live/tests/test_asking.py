"""Brokers that do not answer the kit as Kafka does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from groupspec.conformance.errors import InconclusiveProblem
from groupspec.conformance.wire.live import asking
from groupspec.conformance.wire.live.admin import Admin
from groupspec.impl.core.messages import MetadataResponse
from groupspec.impl.network.addresses import Address
from groupspec.impl.network.codec import encode_response, read_header
from groupspec.impl.network.frames import FrameReader, framed
from groupspec.impl.network.versions import API_VERSIONS, ApiVersionsResponse

pytestmark = pytest.mark.realtime
ApiVersions = ApiVersionsResponse(dict(API_VERSIONS))


@contextmanager
def broker(answer: Callable[[socket.socket, int, int], None]) -> Iterator[Address]:
    """Names its versions, and then answers as `answer` does, which gets version and correlation id."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        peer, _ = listening.accept()
        frames = FrameReader()
        with peer:
            while data := peer.recv(65_536):
                for frame in frames.feed(data):
                    header = read_header(frame)
                    if header.api == "ApiVersions":
                        peer.sendall(framed(encode_response(ApiVersions, header.version, header.correlation_id)))
                    else:
                        answer(peer, header.version, header.correlation_id)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()
    finally:
        listening.close()


def test_an_answer_that_comes_byte_by_byte_has_no_longer_than_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "ANSWER_WITHIN_S", 0.4)
    over = threading.Event()

    def dribble(peer: socket.socket, version: int, correlation_id: int) -> None:
        peer.sendall((100).to_bytes(4, "big"))
        for _ in range(100):
            if over.wait(0.05):
                return
            peer.sendall(b"x")

    with broker(dribble) as address, Admin([address]) as admin:
        try:
            with pytest.raises(InconclusiveProblem, match=r"no whole answer within 0\.4 s"):
                admin.find_topic("orders")
        finally:
            over.set()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (bytes(4) + b"\x7f\xff\xff\xff", "elements of"),
        (encode_response(MetadataResponse((), ()), 4, 0)[4:], "not enough values"),
        (b"", "MetadataResponse"),
    ],
)
def test_an_answer_that_is_none_is_told_and_no_defect_of_the_kit(body: bytes, why: str) -> None:
    def answer(peer: socket.socket, version: int, correlation_id: int) -> None:
        peer.sendall(framed(correlation_id.to_bytes(4, "big") + body))

    with (
        broker(answer) as address,
        Admin([address]) as admin,
        pytest.raises(InconclusiveProblem, match="does not answer as Kafka does") as told,
    ):
        admin.find_topic("orders")
    assert why in str(told.value)
