"""The sockets behind a consumer, against the scripted broker and against ports where nobody answers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from groupspec.impl.broker.actions import CloseConnection, Hold, NeverReply, RawBytes
from groupspec.impl.broker.server import ScriptedBroker
from groupspec.impl.core.events import ANY_NODE, COORDINATOR, ResponseReceived, SendRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataResponse,
    NoAnswer,
    Request,
    TopicPartition,
)
from groupspec.impl.network.transport import SocketSettings, SocketTransport, parse_bootstrap

pytestmark = pytest.mark.realtime

HEARTBEAT = HeartbeatRequest("g", 1, "m", None)
NOT_A_MEMBER = HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)
BOUND_S = 10.0


def now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class Driver:
    """What drives a transport here: it counts requests, and polls until it has the answers."""

    def __init__(self, bootstrap: str, settings: SocketSettings | None = None) -> None:
        self.transport = SocketTransport(bootstrap, "client", now_ms, settings=settings)
        self._last_id = 0
        self.answers: dict[int, ResponseReceived] = {}

    def send(self, request: Request, node: str | int = ANY_NODE, timeout_ms: int = 5_000) -> int:
        self._last_id += 1
        self.transport.send(SendRequest(self._last_id, node, request, timeout_ms), now_ms())
        return self._last_id

    def answer(self, request_id: int) -> object:
        end = time.monotonic() + BOUND_S
        while request_id not in self.answers:
            assert time.monotonic() < end, f"request {request_id} was never answered"
            self.answers |= {answer.request_id: answer for answer in self.transport.poll(1_000)}
        return self.answers[request_id].response

    def ask(self, request: Request, node: str | int = ANY_NODE, timeout_ms: int = 5_000) -> object:
        return self.answer(self.send(request, node, timeout_ms))

    def to_coordinator(self) -> None:
        found = self.ask(FindCoordinatorRequest("g"))
        assert isinstance(found, FindCoordinatorResponse)
        self.transport.connect_coordinator(found.node_id, found.host, found.port)


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker(2, {"orders": 2}, lifetime_s=60) as broker:
        yield broker


@pytest.fixture
def connect() -> Iterator[Connect]:
    drivers: list[Driver] = []

    def make(bootstrap: str, settings: SocketSettings | None = None) -> Driver:
        drivers.append(Driver(bootstrap, settings))
        return drivers[-1]

    yield make
    for driver in drivers:
        driver.transport.close(1_000)


def refused_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


Connect = Callable[..., Driver]


def test_pauses_between_connections_grow_up_to_their_limit() -> None:
    settings = SocketSettings(reconnect_backoff_ms=10, reconnect_backoff_max_ms=75)
    assert [settings.pause_ms(failures) for failures in (0, 1, 2, 3, 1_000)] == [10, 20, 40, 75, 75]


def test_sockets_get_the_buffers_that_were_asked_for() -> None:
    with socket.socket() as small, socket.socket() as large:
        SocketSettings(receive_buffer_bytes=10_000, send_buffer_bytes=10_000).prepare(small)
        SocketSettings(receive_buffer_bytes=50_000, send_buffer_bytes=50_000).prepare(large)
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            sizes = [made.getsockopt(socket.SOL_SOCKET, option) for made in (small, large)]
            assert sizes[0] >= 10_000
            assert sizes[1] >= 50_000 > sizes[0]


def test_a_request_goes_to_a_node_that_metadata_named(broker: ScriptedBroker, connect: Connect) -> None:
    broker.append("orders", 1, [b"a", b"b"])
    driver = connect(broker.bootstrap)
    fetch = FetchRequest({TopicPartition("orders", 1): 0}, 100, 1, 1_000, 1_000)
    assert driver.ask(fetch, node=2) == NoAnswer(ErrorCode.DISCONNECTED)  # nobody has said where node 2 is
    metadata = driver.ask(MetadataRequest(("orders",)))
    assert isinstance(metadata, MetadataResponse)
    assert metadata.topics[0].partitions[1].leader == 2
    fetched = driver.ask(fetch, node=2)
    assert isinstance(fetched, FetchResponse)
    assert fetched.partitions[TopicPartition("orders", 1)].high_watermark == 2


def test_the_coordinator_has_a_connection_of_its_own(broker: ScriptedBroker, connect: Connect) -> None:
    driver = connect(broker.bootstrap.split(",")[0])
    driver.to_coordinator()
    held = Hold()
    broker.on_next("Metadata", held)
    waiting = driver.send(MetadataRequest(("orders",)))
    assert driver.ask(HEARTBEAT, COORDINATOR) == NOT_A_MEMBER
    assert waiting not in driver.answers
    held.release()
    assert isinstance(driver.answer(waiting), MetadataResponse)
    assert len({event.connection for event in broker.events if event.kind == "connect"}) == 2


def test_the_first_bootstrap_server_may_be_down(broker: ScriptedBroker, connect: Connect) -> None:
    driver = connect(f"127.0.0.1:{refused_port()},{broker.bootstrap}")
    assert isinstance(driver.ask(MetadataRequest(None)), MetadataResponse)


def looked_up(monkeypatch: pytest.MonkeyPatch, *ports: int) -> None:
    """A host has several addresses: here the same one with several ports."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: list(found))


def test_a_broker_may_listen_at_any_address_of_its_host(
    broker: ScriptedBroker, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As "localhost" on a machine with IPv6, and a broker without."""
    looked_up(monkeypatch, refused_port(), refused_port(), int(broker.bootstrap.split(",")[0].rpartition(":")[2]))
    driver = connect("localhost:9092")
    assert isinstance(driver.ask(MetadataRequest(None)), MetadataResponse)


def test_an_address_that_swallows_everything_costs_its_part_of_the_time(
    broker: ScriptedBroker, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as full:  # a queue of one that is taken: who comes now gets no answer at all
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            looked_up(monkeypatch, port, int(broker.bootstrap.split(",")[0].rpartition(":")[2]))
            driver = connect("localhost:9092", SocketSettings(socket_connection_setup_timeout_ms=400))
            assert isinstance(driver.ask(MetadataRequest(None)), MetadataResponse)


def test_after_an_address_that_is_no_broker_another_one_is_the_first(
    broker: ScriptedBroker, connect: Connect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with web_server() as port:
        looked_up(monkeypatch, port, int(broker.bootstrap.split(",")[0].rpartition(":")[2]))
        driver = connect("localhost:9092")
        assert driver.ask(MetadataRequest(None)) == NoAnswer(ErrorCode.DISCONNECTED)
        assert isinstance(driver.ask(MetadataRequest(None)), MetadataResponse)
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
    assert "localhost:9092 does not answer as a Kafka broker does" in warnings[0]


@contextmanager
def web_server() -> Iterator[int]:
    """Something that answers each connection as web servers answer nonsense."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection:
                        connection.recv(1024)
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(listening.getsockname()[1])
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(BOUND_S)


def test_a_broker_that_is_not_there_is_said_once_and_not_at_every_try(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    port = refused_port()
    driver = connect(f"127.0.0.1:{port}")
    for _ in range(3):
        driver.ask(MetadataRequest(None))
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records] == [
        (
            "groupspec.impl.network.transport",
            "WARNING",
            f"[client] Can't connect to 127.0.0.1:{port}: [Errno 111] Connection refused. Trying again",
        )
    ]


def test_all_bootstrap_servers_may_be_down(connect: Connect) -> None:
    driver = connect(f"127.0.0.1:{refused_port()}")
    for _ in range(3):
        assert driver.ask(MetadataRequest(None)) == NoAnswer(ErrorCode.DISCONNECTED)


def test_D6_an_unanswered_request_times_out_and_takes_its_connection_along(
    broker: ScriptedBroker, connect: Connect
) -> None:
    driver = connect(broker.bootstrap)
    driver.to_coordinator()
    broker.on_next("Heartbeat", NeverReply())
    slow = driver.send(HEARTBEAT, COORDINATOR, timeout_ms=100)
    behind = driver.send(HEARTBEAT, COORDINATOR)
    assert driver.answer(slow) == NoAnswer(ErrorCode.TIMED_OUT)
    assert driver.answer(behind) == NoAnswer(ErrorCode.DISCONNECTED)
    assert driver.ask(HEARTBEAT, COORDINATOR) == NOT_A_MEMBER  # over a new connection


@pytest.mark.parametrize(
    "action",
    [
        CloseConnection(),
        RawBytes(b"\x7f\xff\xff\xff"),
        RawBytes(b"\x00\x00\x00\x06\x00\x00\x03\xe7\x00\x00"),
        RawBytes(b"\x00\x00\x00\x02ab"),
        RawBytes(b"\x00\x00\x00\x10half", close=True),
    ],
    ids=["closed", "2 GB prefix", "wrong correlation id", "too short", "half a frame"],
)
def test_whatever_a_broker_does_to_a_connection_another_one_is_made(
    action: CloseConnection | RawBytes, broker: ScriptedBroker, connect: Connect
) -> None:
    driver = connect(broker.bootstrap)
    driver.to_coordinator()
    broker.on_next("Heartbeat", action)
    assert driver.ask(HEARTBEAT, COORDINATOR) == NoAnswer(ErrorCode.DISCONNECTED)
    assert driver.ask(HEARTBEAT, COORDINATOR) == NOT_A_MEMBER


def test_D5_a_forgotten_coordinator_is_silent(broker: ScriptedBroker, connect: Connect) -> None:
    driver = connect(broker.bootstrap)
    driver.to_coordinator()
    held = Hold()
    broker.on_next("Heartbeat", held)
    forgotten = driver.send(HEARTBEAT, COORDINATOR)
    driver.transport.poll(100)
    connection = broker.wait_for(lambda e: e.api == "Heartbeat", BOUND_S, "the heartbeat").connection
    driver.transport.disconnect_coordinator()
    broker.wait_for(lambda e: e.kind == "disconnect" and e.connection == connection, BOUND_S, "its end")
    held.release()
    assert driver.ask(HEARTBEAT, COORDINATOR) == NoAnswer(ErrorCode.DISCONNECTED)
    assert forgotten not in driver.answers


def test_the_coordinator_moves(broker: ScriptedBroker, connect: Connect) -> None:
    driver = connect(broker.bootstrap)
    driver.to_coordinator()
    assert driver.ask(HEARTBEAT, COORDINATOR) == NOT_A_MEMBER
    broker.coordinator = 2
    assert driver.ask(HEARTBEAT, COORDINATOR) == HeartbeatResponse(ErrorCode.NOT_COORDINATOR)
    driver.to_coordinator()
    assert driver.ask(HEARTBEAT, COORDINATOR) == NOT_A_MEMBER


def test_a_poll_is_woken_by_another_thread(connect: Connect, broker: ScriptedBroker) -> None:
    driver = connect(broker.bootstrap)
    started = time.monotonic()
    waker = threading.Timer(0.05, driver.transport.wake)
    waker.start()
    assert driver.transport.poll(30_000) == []
    assert time.monotonic() - started < BOUND_S
    waker.join()
    driver.transport.wake()
    assert driver.transport.poll(30_000) == []  # a wake before the poll counts too


def test_what_is_queued_is_still_sent_by_close(connect: Connect, broker: ScriptedBroker) -> None:
    driver = connect(broker.bootstrap)
    driver.to_coordinator()
    assert driver.ask(HEARTBEAT, COORDINATOR) == NOT_A_MEMBER
    last = broker.note("from here on")
    driver.send(HEARTBEAT, COORDINATOR)
    driver.transport.close(1_000)
    broker.wait_for(lambda e: e.kind == "request" and e.api == "Heartbeat", BOUND_S, "the last heartbeat", last)
    driver.transport.close(1_000)
    driver.transport.wake()
    assert driver.transport._links == {}


@pytest.mark.parametrize("servers", [12, [12], None, [b"localhost:9092"]])
def test_bootstrap_servers_are_texts(servers: object) -> None:
    with pytest.raises(ValueError, match=r"bootstrap_servers.* must be a text"):
        parse_bootstrap(servers)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "localhost", "localhost:", ":9092", "localhost:0", "localhost:99999", "a:1,,b:2"])
def test_a_bootstrap_server_is_a_host_and_a_port(text: str) -> None:
    with pytest.raises(ValueError, match="bootstrap_servers"):
        parse_bootstrap(text)


def test_bootstrap_servers_are_a_list_or_a_text() -> None:
    assert parse_bootstrap("a:1, b:2") == parse_bootstrap(["a:1", "b:2"]) == [("a", 1), ("b", 2)]
    assert parse_bootstrap("[::1]:9092") == [("::1", 9092)]
