"""The scripted broker over TCP: what it does with requests, with garbage, with scripts, and with itself."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from groupspec.impl.broker.actions import (
    CloseConnection,
    Hold,
    NeverReply,
    RawBytes,
    Reply,
    ReplyAfter,
)
from groupspec.impl.broker.log import BrokerFailure, NotHappened, WireEvent
from groupspec.impl.broker.server import ScriptedBroker
from groupspec.impl.core.messages import (
    ApiVersionsRequest,
    ErrorCode,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Request,
    SyncGroupRequest,
    TopicPartition,
)
from groupspec.impl.core.protocol import Subscription, encode_subscription
from groupspec.impl.network.codec import Answer, api_of, decode_response, encode_request
from groupspec.impl.network.frames import FrameReader, framed
from groupspec.impl.network.versions import ApiVersionsResponse, VersionRange

pytestmark = pytest.mark.realtime

BOUND_S = 10.0
HEARTBEAT = HeartbeatRequest("g", 1, "m", None)
UNKNOWN = HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)
JOIN = JoinGroupRequest("g", 10_000, 60_000, "", None, (("range", encode_subscription(Subscription(("orders",)))),))
VERSIONS = {"Heartbeat": 4, "JoinGroup": 9, "SyncGroup": 5, "Fetch": 12, "FindCoordinator": 4}


class Client:
    """A blocking connection to one node."""

    def __init__(self, broker: ScriptedBroker, node: int = 1) -> None:
        address = broker.addresses[node - 1]
        self.socket = socket.create_connection((address.host, address.port), timeout=BOUND_S)
        self.frames = FrameReader()
        self.arrived: list[bytes] = []
        self.last_id = 0

    def send(self, request: Request, version: int | None = None) -> int:
        self.last_id += 1
        chosen = VERSIONS.get(api_of(request), 0) if version is None else version
        self.socket.sendall(framed(encode_request(request, chosen, self.last_id, "client")))
        return self.last_id

    def receive(self) -> bytes | None:
        """One frame; None at the end of the stream."""
        while not self.arrived:
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self.arrived += self.frames.feed(data)
        return self.arrived.pop(0)

    def ask(self, request: Request, version: int | None = None) -> Answer:
        number = self.send(request, version)
        frame = self.receive()
        assert frame is not None, "the connection was closed"
        chosen = VERSIONS.get(api_of(request), 0) if version is None else version
        correlation_id, answer = decode_response(api_of(request), chosen, frame)
        assert correlation_id == number
        return answer

    def join(self) -> SyncGroupRequest:
        """Become the stable member of group g; returns the SyncGroup that did it."""
        given = self.ask(JOIN)
        assert isinstance(given, JoinGroupResponse)
        joined = self.ask(JoinGroupRequest("g", 10_000, 60_000, given.member_id, None, JOIN.protocols))
        assert isinstance(joined, JoinGroupResponse)
        sync = SyncGroupRequest("g", joined.generation, given.member_id, None, "range")
        self.ask(sync)
        return sync


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker(2, {"orders": 4}, lifetime_s=60) as broker:
        yield broker


@pytest.fixture
def connect(broker: ScriptedBroker) -> Iterator[Callable[[int], Client]]:
    clients: list[Client] = []

    def make(node: int = 1) -> Client:
        clients.append(Client(broker, node))
        return clients[-1]

    yield make
    for client in clients:
        client.socket.close()


@pytest.fixture
def client(connect: Callable[[int], Client]) -> Client:
    return connect(1)


def is_request(api: str) -> Callable[[WireEvent], bool]:
    return lambda event: event.kind == "request" and event.api == api


# Default answers -----------------------------------------------------------------------------------------------------


def test_it_says_who_it_is(broker: ScriptedBroker, client: Client) -> None:
    versions = client.ask(ApiVersionsRequest())
    assert isinstance(versions, ApiVersionsResponse)
    assert versions.versions["JoinGroup"] == VersionRange(0, 9)
    assert "Produce" in versions.versions  # librdkafka takes its absence for a very old broker
    metadata = client.ask(MetadataRequest(("orders", "payments")))
    assert isinstance(metadata, MetadataResponse)
    assert metadata.brokers == broker.addresses
    assert [topic.error for topic in metadata.topics] == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    everything = client.ask(MetadataRequest(None))
    assert isinstance(everything, MetadataResponse)
    assert [topic.topic for topic in everything.topics] == ["orders"]


def test_an_unknown_version_of_api_versions_is_answered_in_version_0(broker: ScriptedBroker, client: Client) -> None:
    frame = bytearray(encode_request(ApiVersionsRequest(), 4, 7, "client"))
    frame[2:4] = struct.pack(">h", 5)
    client.socket.sendall(framed(bytes(frame)))
    answer = client.receive()
    assert answer is not None
    versions = decode_response("ApiVersions", 0, answer)[1]
    assert isinstance(versions, ApiVersionsResponse)
    assert versions.error is ErrorCode.UNSUPPORTED_VERSION
    assert versions.versions["ApiVersions"] == VersionRange(0, 4)


def test_the_coordinator_moves_and_the_old_one_says_so(
    broker: ScriptedBroker, connect: Callable[[int], Client]
) -> None:
    one, two = connect(1), connect(2)
    assert one.ask(HEARTBEAT) == UNKNOWN
    assert two.ask(HEARTBEAT) == HeartbeatResponse(ErrorCode.NOT_COORDINATOR)
    broker.coordinator = 2
    found = one.ask(FindCoordinatorRequest("g"))
    assert isinstance(found, FindCoordinatorResponse)
    assert (found.node_id, found.port) == (2, broker.addresses[1].port)
    assert one.ask(HEARTBEAT) == HeartbeatResponse(ErrorCode.NOT_COORDINATOR)
    with pytest.raises(ValueError, match="node 3 does not exist"):
        broker.coordinator = 3


def test_a_fetch_waits_for_records_and_blocks_nobody_else(
    broker: ScriptedBroker, connect: Callable[[int], Client]
) -> None:
    reader, other = connect(1), connect(1)
    reader.send(FetchRequest({TopicPartition("orders", 0): 0}, 8_000, 1, 10_000, 10_000))
    broker.wait_for(is_request("Fetch"), BOUND_S, "the fetch")
    assert other.ask(HEARTBEAT) == UNKNOWN
    assert broker.append("orders", 0, [b"late"]) == 0
    frame = reader.receive()
    assert frame is not None
    fetched = decode_response("Fetch", 12, frame)[1]
    assert isinstance(fetched, FetchResponse)
    assert b"late" in fetched.partitions[TopicPartition("orders", 0)].record_bytes


def test_a_fetch_does_not_wait_longer_than_it_wants_to(client: Client) -> None:
    fetched = client.ask(FetchRequest({TopicPartition("orders", 0): 0}, 20, 1, 10_000, 10_000))
    assert isinstance(fetched, FetchResponse)
    assert fetched.partitions[TopicPartition("orders", 0)].record_bytes == b""


# Scripts -------------------------------------------------------------------------------------------------------------


def test_one_shot_entries_come_first_and_in_order(broker: ScriptedBroker, client: Client) -> None:
    broker.always("Heartbeat", Reply("NOT_COORDINATOR"))
    broker.on_next("Heartbeat", Reply(ErrorCode.REBALANCE_IN_PROGRESS), times=2)
    broker.on_next("Heartbeat", Reply(22))
    assert len(broker.unused_script()) == 2
    answers = [client.ask(HEARTBEAT) for _ in range(5)]
    assert [answer.error.value for answer in answers] == [27, 27, 22, 16, 16]
    assert broker.unused_script() == []
    broker.clear_script("Heartbeat")
    assert client.ask(HEARTBEAT) == UNKNOWN


def test_a_script_can_choose_its_requests(broker: ScriptedBroker, client: Client) -> None:
    broker.on_next("Heartbeat", Reply(15), match=lambda e: getattr(e.message, "member_id", "") == "other")
    assert client.ask(HEARTBEAT) == UNKNOWN
    assert client.ask(HeartbeatRequest("g", 1, "other", None)) == HeartbeatResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)


def test_a_held_request_is_answered_when_it_is_released_and_what_comes_behind_it_then_too(
    broker: ScriptedBroker, connect: Callable[[int], Client]
) -> None:
    client, other = connect(1), connect(1)
    hold = Hold(then=Reply("REBALANCE_IN_PROGRESS"))
    broker.on_next("Heartbeat", hold)
    first, second = client.send(HEARTBEAT), client.send(HEARTBEAT)
    broker.wait_for(lambda e: is_request("Heartbeat")(e) and e.correlation_id == second, BOUND_S, "the second one")
    assert other.ask(HEARTBEAT) == UNKNOWN
    hold.release()
    answers = [decode_response("Heartbeat", 4, client.receive() or b"") for _ in range(2)]
    assert answers == [(first, HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)), (second, UNKNOWN)]


def test_a_hold_released_beforehand_holds_nothing(broker: ScriptedBroker, client: Client) -> None:
    hold = Hold()
    hold.release()
    broker.on_next("Heartbeat", ReplyAfter(1, then=hold))
    assert client.ask(HEARTBEAT) == UNKNOWN


def test_no_answer_no_connection_or_any_bytes(broker: ScriptedBroker, connect: Callable[[int], Client]) -> None:
    silent, closed, raw = connect(1), connect(1), connect(1)
    for action in (NeverReply(), CloseConnection(), RawBytes(framed(b"nonsense"), close=True)):
        broker.on_next("Heartbeat", action)
    silent.send(HEARTBEAT)
    broker.wait_for(is_request("Heartbeat"), BOUND_S, "the first one")
    closed.send(HEARTBEAT)
    assert closed.receive() is None
    raw.send(HEARTBEAT)
    assert (raw.receive(), raw.receive()) == (b"nonsense", None)
    silent.socket.settimeout(0.05)
    with pytest.raises(TimeoutError):
        silent.receive()
    [sent] = [event for event in broker.events if event.kind == "sent_raw"]
    assert sent.raw == framed(b"nonsense")


def test_a_cut_request_has_had_its_effect_or_not_and_the_log_says_which(
    broker: ScriptedBroker, connect: Callable[[int], Client]
) -> None:
    commit = OffsetCommitRequest("g", -1, "", None, {TopicPartition("orders", 0): OffsetAndMetadata(7)})
    asked = OffsetFetchRequest("g", (TopicPartition("orders", 0),))
    found = []
    for action in (CloseConnection(reset=True), CloseConnection(applied=True)):
        broker.on_next("OffsetCommit", action)
        peer = connect(1)
        peer.send(commit, 8)
        assert peer.receive() is None
        answer = connect(1).ask(asked, 7)
        assert isinstance(answer, OffsetFetchResponse)
        found.append(answer.offsets[TopicPartition("orders", 0)].offset)
    assert found == [-1, 7]
    notes = [event.text for event in broker.events if event.kind == "note" and event.api == "OffsetCommit"]
    assert [text.rpartition("had ")[2] for text in notes] == ["no effect", "its effect"]


def test_a_cut_may_be_a_reset_or_the_end_of_the_stream(
    broker: ScriptedBroker, connect: Callable[[int], Client]
) -> None:
    for reset in (False, True):
        broker.on_next("Heartbeat", CloseConnection(reset=reset))
        peer = connect(1)
        peer.send(HEARTBEAT)
        try:
            ended = peer.socket.recv(1) != b""
        except ConnectionResetError:
            ended = True
        assert ended is reset


def test_any_error_code_can_be_sent(broker: ScriptedBroker, client: Client) -> None:
    broker.on_next("Heartbeat", Reply(999))
    client.send(HEARTBEAT, 0)
    assert client.receive() == struct.pack(">ih", 1, 999)
    assert broker.events[-1].error == "CODE_999"


def test_a_member_that_is_told_so_is_gone(broker: ScriptedBroker, client: Client) -> None:
    sync = client.join()
    heartbeat = HeartbeatRequest("g", sync.generation, sync.member_id, None)
    assert client.ask(heartbeat) == HeartbeatResponse(ErrorCode.NONE)
    broker.on_next("Heartbeat", Reply("UNKNOWN_MEMBER_ID"))
    assert client.ask(heartbeat) == UNKNOWN
    assert client.ask(heartbeat) == UNKNOWN
    broker.on_next("JoinGroup", Reply("MEMBER_ID_REQUIRED"))
    given = client.ask(JOIN, 3)
    assert isinstance(given, JoinGroupResponse)
    assert given.member_id.startswith("client-")


def test_a_rebalance_can_be_announced_and_a_phantom_take_part(broker: ScriptedBroker, client: Client) -> None:
    sync = client.join()
    broker.add_phantom("g", leads=True, takes=[TopicPartition("orders", 3)])
    broker.announce_rebalance("g")
    heartbeat = HeartbeatRequest("g", sync.generation, sync.member_id, None)
    assert client.ask(heartbeat) == HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)
    joined = client.ask(JoinGroupRequest("g", 10_000, 60_000, sync.member_id, None, JOIN.protocols))
    assert isinstance(joined, JoinGroupResponse)
    client.ask(SyncGroupRequest("g", joined.generation, sync.member_id, None, "range"))
    assert broker.assigned("g") == tuple(TopicPartition("orders", number) for number in range(3))


def test_a_script_for_an_api_that_does_not_exist_is_refused(broker: ScriptedBroker) -> None:
    with pytest.raises(ValueError, match="'Hartbeat' is no API"):
        broker.on_next("Hartbeat", NeverReply())
    with pytest.raises(ValueError, match="needs an error or a response"):
        Reply()


# Garbage -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"\x7f\xff\xff\xff", "announces 2147483647 bytes"),
        (b"\xff\xff\xff\xff", "announces -1 bytes"),
        (framed(b"GET / HTTP"), "is not served"),
        (framed(b"abc"), "a request of 3 bytes"),
        (framed(struct.pack(">hhi", 99, 0, 1)), "99 version 0"),
        (framed(struct.pack(">hhi", 11, 44, 1)), "served are versions 0 to 9"),
    ],
    ids=["2 GB", "negative", "HTTP", "short", "unknown API", "unknown version"],
)
def test_garbage_ends_its_own_connection_only(
    sent: bytes, why: str, broker: ScriptedBroker, connect: Callable[[int], Client]
) -> None:
    good, bad = connect(1), connect(1)
    bad.socket.sendall(sent)
    assert bad.receive() is None
    garbage = broker.wait_for(lambda e: e.kind == "garbage", BOUND_S, "the garbage")
    assert why in garbage.text
    assert good.ask(HEARTBEAT) == UNKNOWN


def test_what_comes_behind_a_request_in_its_frame_is_left_alone(client: Client) -> None:
    client.socket.sendall(framed(encode_request(HEARTBEAT, 4, 1, "client") + b"!"))
    assert client.receive() is not None


def test_half_a_frame_is_garbage(broker: ScriptedBroker, client: Client) -> None:
    client.socket.sendall(framed(b"never finished")[:9])
    client.socket.close()
    garbage = broker.wait_for(lambda e: e.kind == "garbage", BOUND_S, "the garbage")
    assert "in the middle of a frame" in garbage.text


# The log, and the broker's own life ----------------------------------------------------------------------------------


def test_the_log_has_everything_in_one_order(broker: ScriptedBroker, client: Client) -> None:
    heard: list[WireEvent] = []
    broker.log.listen(heard.append)
    start = broker.note("now")
    client.ask(HEARTBEAT)
    client.socket.close()
    broker.wait_for(lambda e: e.kind == "disconnect", BOUND_S, "the end", since=start)
    events = broker.events
    assert [event.number for event in events] == list(range(len(events)))
    assert [event.at_us for event in events] == sorted(event.at_us for event in events)
    later = events[start.number + 1 :]
    assert heard == [start, *later]
    request, answer, _ = (event for event in later if event.kind != "connect")
    assert (request.message, request.client_id, request.error) == (HEARTBEAT, "client", "")
    assert (answer.message, answer.error, answer.correlation_id) == (
        UNKNOWN,
        "UNKNOWN_MEMBER_ID",
        request.correlation_id,
    )
    assert "Heartbeat v4" in str(request)


def test_what_does_not_happen_is_shown_with_the_end_of_the_log(broker: ScriptedBroker, client: Client) -> None:
    client.ask(HEARTBEAT)
    with pytest.raises(
        NotHappened, match=r"(?s)a JoinGroup did not happen within 0.01 s.*Heartbeat v4 UNKNOWN_MEMBER_ID"
    ):
        broker.wait_for(is_request("JoinGroup"), 0.01, "a JoinGroup")


def test_connections_can_be_cut(broker: ScriptedBroker, client: Client) -> None:
    client.ask(HEARTBEAT)
    broker.disconnect(client_id="somebody else")
    broker.disconnect(node=1, client_id="client")
    assert client.receive() is None


def test_version_caps() -> None:
    with ScriptedBroker(1, version_caps={"Heartbeat": 2}) as broker:
        client = Client(broker)
        versions = client.ask(ApiVersionsRequest())
        assert isinstance(versions, ApiVersionsResponse)
        assert versions.versions["Heartbeat"] == VersionRange(0, 2)
        client.send(HEARTBEAT, 3)
        assert client.receive() is None
        client.socket.close()
    with pytest.raises(ValueError, match="version caps for"):
        ScriptedBroker(version_caps={"Hartbeat": 2})


def test_a_failure_inside_reaches_whoever_waits_or_closes() -> None:
    broker = ScriptedBroker(1)
    broker.start()
    broker.always("Heartbeat", Reply(response=FindCoordinatorResponse(ErrorCode.NONE)))
    client = Client(broker)
    client.send(HEARTBEAT)
    with pytest.raises(BrokerFailure, match="Heartbeat can't be answered with"):
        broker.wait_for(lambda e: e.kind == "note", BOUND_S, "what will not come")
    client.socket.close()
    with pytest.raises(BrokerFailure, match="the scripted broker broke"):
        broker.close()


def test_what_asyncio_would_only_log_is_a_failure_too() -> None:
    def raises() -> None:
        raise MemoryError

    broker = ScriptedBroker(1)
    broker.start()
    broker._in_loop(raises)
    with pytest.raises(BrokerFailure) as caught:
        broker.wait_for(lambda e: False, BOUND_S, "nothing")
    assert isinstance(caught.value.__cause__, MemoryError)
    with pytest.raises(BrokerFailure):
        broker.close()


def test_a_broker_does_not_outlive_its_time() -> None:
    broker = ScriptedBroker(1, lifetime_s=0.05)
    broker.start()
    with pytest.raises(BrokerFailure, match=r"lifetime of 0\.05 s is over"):
        broker.wait_for(lambda e: False, BOUND_S, "nothing")
    with pytest.raises(BrokerFailure):
        broker.close()


def test_nothing_is_left_when_a_broker_is_closed() -> None:
    before = threading.active_count()
    with ScriptedBroker(3) as broker:
        client = Client(broker, 3)
        broker.on_next("Heartbeat", NeverReply())
        client.send(HEARTBEAT)
        broker.wait_for(is_request("Heartbeat"), BOUND_S, "the heartbeat")
    assert client.receive() is None
    client.socket.close()
    assert threading.active_count() == before
    broker.close()
    with pytest.raises(ValueError, match="at least one node"):
        ScriptedBroker(0)


def test_it_says_when_its_loop_stood_still(broker: ScriptedBroker) -> None:
    """What arrives then is read late and together.

    A kit's other threads may have gone on meanwhile, and noticed nothing.
    """

    def stand_still(event: WireEvent) -> None:
        if event.kind == "request":
            threading.Event().wait(0.06)

    broker.log.listen(stand_still)
    client = Client(broker)
    for _ in range(3):
        client.ask(HEARTBEAT)
    assert max(end - start for start, end in broker.stalls_us()) > 35_000
