"""`TwoBrokers`: a cluster of two, whose groups all lie in one partition, which can be moved from one to the other."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from groupspec.conformance.errors import InternalProblem
from groupspec.conformance.real_broker import probe
from groupspec.conformance.real_broker.jars import KAFKA_VERSION
from groupspec.conformance.real_broker.tests.fixture import RealBroker
from groupspec.impl.core import messages
from groupspec.impl.network import wire
from groupspec.impl.network.codec import decode_response, encode_request
from groupspec.impl.network.frames import FrameReader, framed

MOVE_LIMIT_S: Final = 60.0
_ALTER_PARTITION_REASSIGNMENTS: Final = 45
_CLIENT: Final = "two-brokers"


class TwoBrokers:
    """Node 1 is broker and controller, node 2 broker. Use as a context manager.

    Attributes:
        ports: Where clients find node 1 and node 2, on 127.0.0.1.
    """

    def __init__(self, directory: Path, *, settings: Mapping[str, str], version: str = KAFKA_VERSION) -> None:
        self._directory = directory
        self._settings = settings
        self._version = version
        self._stack = ExitStack()
        self.first = RealBroker(directory / "1", settings=settings, version=version)
        self.ports: tuple[int, int] = (0, 0)

    def __enter__(self) -> TwoBrokers:
        with ExitStack() as stack:
            stack.enter_context(self.first)
            [port] = probe.free_ports(1)
            second = RealBroker(
                self._directory / "2",
                settings={**self._settings, **self._joining(port)},
                version=self._version,
                port=port,
            )
            stack.enter_context(second)
            self.ports = (int(self.first.bootstrap.rpartition(":")[2]), port)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _joining(self, port: int) -> dict[str, str]:
        """Of node 2: lines of server.properties that hold in place of the ones above them."""
        properties = (self._directory / "1" / "server.properties").read_text(encoding="utf-8")
        voters = re.search(r"^controller\.quorum\.voters=(.*)$", properties, re.MULTILINE)
        assert voters is not None
        return {
            "process.roles": "broker",
            "node.id": "2",
            "controller.quorum.voters": voters[1],
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        }

    def coordinator(self) -> int:
        """The node that has the groups."""
        request = messages.FindCoordinatorRequest("anybody's")
        answer = decode_response("FindCoordinator", 3, self._ask(1, encode_request(request, 3, 1, _CLIENT)))[1]
        assert isinstance(answer, messages.FindCoordinatorResponse)
        return answer.node_id

    def begin_move(self, node: int) -> None:
        """Have the partition of the groups moved to this node; that takes a moment.

        Raises:
            InternalProblem: the controller refuses.
        """
        place = {"name": "__consumer_offsets", "partitions": [{"partition_index": 0, "replicas": [node]}]}
        key, body = _ALTER_PARTITION_REASSIGNMENTS, {"timeout": 30_000, "topics": [place]}
        frame = self._ask(1, wire.encode_request(key, 0, 1, _CLIENT, body))
        answer = wire.decode_response_body(key, 0, frame, wire.decode_response_header(key, 0, frame)[1])
        error: Any = answer.get("error_code")
        if error:
            raise InternalProblem(f"the groups cannot be moved: {error!r}", where=f"node {node}")

    def end_move(self, node: int) -> None:
        """Wait until this node has read the groups, and the other has given them up."""
        until = time.monotonic() + MOVE_LIMIT_S
        while self._heartbeat(node) is not messages.ErrorCode.UNKNOWN_MEMBER_ID or (
            self._heartbeat(3 - node) is not messages.ErrorCode.NOT_COORDINATOR
        ):
            if time.monotonic() > until:
                raise InternalProblem("the groups have not moved", where=f"node {node}")

    def _heartbeat(self, node: int) -> messages.ErrorCode:
        """What a stranger is told: NONE while the groups are being read."""
        request = messages.HeartbeatRequest("nobody's", 1, "nobody", None)
        answer = decode_response("Heartbeat", 4, self._ask(node, encode_request(request, 4, 1, _CLIENT)))[1]
        assert isinstance(answer, messages.HeartbeatResponse)
        return answer.error

    def _ask(self, node: int, request: bytes) -> bytes:
        return self.ask(node, [request])[0]

    def ask(self, node: int, requests: Sequence[bytes]) -> list[bytes]:
        """Send requests to this node, one right after the other; the answers."""
        frames, answers = FrameReader(), list[bytes]()
        with socket.create_connection(("127.0.0.1", self.ports[node - 1]), MOVE_LIMIT_S) as connection:
            connection.sendall(b"".join(framed(request) for request in requests))
            while len(answers) < len(requests):
                answers += frames.feed(connection.recv(65_536))
        return answers
