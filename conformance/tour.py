"""The guided tour's pictures: what happens between `poll()` and the wire, recorded from runs of the reference.

Each path of the tour (`impl/README.md`) is a short script. It drives a whole consumer, both threads, in virtual time
against the reference's own broker (`impl/broker/cluster.py`); what passes between the application's thread, the
background thread and the broker is recorded and drawn. So a picture cannot tell what the reference does not do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Unpack

from groupspec.diagrams.sequence import Entry, EntryKind, sequence_svg
from groupspec.impl.broker.cluster import Cluster
from groupspec.impl.broker.coordinators import Answers
from groupspec.impl.broker.one_client import OneClient
from groupspec.impl.broker.phantom import Phantom
from groupspec.impl.broker.topics import is_worth_answering
from groupspec.impl.consumer import Consumer
from groupspec.impl.coordinator.context import Caller, GroupRequest, nothing
from groupspec.impl.core.config import Config, Settings
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import ConsumerEvent, Output, ResponseReceived, SendRequest, ServerEvent
from groupspec.impl.core.messages import (
    Broker,
    FetchResponse,
    JoinGroupResponse,
    Request,
    Response,
    SyncGroupResponse,
    TopicPartition,
)
from groupspec.impl.core.protocol import decode_assignment
from groupspec.impl.core.transport import Transport
from groupspec.impl.network.records import NewRecord
from groupspec.impl.network.versions import ApiVersionsResponse
from groupspec.impl.runtime import Runtime
from groupspec.impl.testing import Callback, DrivenConsumer, RecordedBackground
from groupspec.impl.wiring import DECODER

GROUP: Final = "billing"
TOPIC: Final = "orders"
APPLICATION: Final = "application's thread"
BACKGROUND: Final = "background thread: the core"
BROKER: Final = "broker"
LATENCY_MS: Final = 2
HEARTBEAT_MS: Final = Config().heartbeat_interval_ms
POLL_INTERVAL_MS: Final = 7_000
START_MS: Final = 1_000
"""The time at which a virtual clock begins; pictures count from it."""
CALLER: Final = Caller(version=7, client_id="groupspec")
"""The first version with group.instance.id; a member without a member id is given one first (KIP-394)."""


class Tour(DrivenConsumer):
    """A consumer in a group of its own, and what was recorded of it since `stable`.

    Of requests for records and positions only the first path shows anything: they go on all the time.
    """

    def __init__(self, *, fetches: bool, **settings: Unpack[Settings]) -> None:
        self.entries: list[Entry] = []
        self._hidden = () if fetches else ("Fetch", "ListOffsets", "Metadata", "OffsetFetch")
        self._cluster = Cluster({TOPIC: 2}, 1, {}, note=nothing)
        assert isinstance(self._cluster.groups, OneClient)
        self._groups = self._cluster.groups
        self._asked: dict[int, Request] = {}
        self._cluster.addresses.append(Broker(1, "localhost", 9092))
        for number in range(2):
            self._cluster.topics.append(TopicPartition(TOPIC, number), [NewRecord(b"a"), NewRecord(b"b")])
        chosen = Settings(group_id=GROUP, auto_offset_reset="earliest", enable_auto_commit=False)
        super().__init__(decoder=DECODER, **(chosen | settings))
        self.listener.during = self._in_callback

    def _make_driver(self, core: Core, transport: Transport, runtime: Runtime) -> RecordedBackground:
        driver = _TourDriver(core, transport, runtime, self.record)
        self._drivers.append(driver)
        return driver

    # What is recorded ------------------------------------------------------------------------------------------------

    def record(self, source: str, target: str, label: str, kind: EntryKind = "note", note: str = "") -> None:
        """One entry more."""
        if label.partition(":")[0] not in self._hidden:
            self.entries.append(Entry(self.runtime.now_ms() - START_MS, source, target, label, kind, note))

    def _in_callback(self, callback: Callback) -> None:
        self.record(APPLICATION, "", f"on_partitions_{callback.kind}", "callback", _fields(callback, "partitions"))

    # The application -------------------------------------------------------------------------------------------------

    def call_consumer(self, name: str, work: Callable[[Consumer], object]) -> None:
        """A call of the application's; returns when it has returned. The broker answers meanwhile."""
        self.record(APPLICATION, "", name, "call")
        call = self.begin(work)
        while not call.done:
            self.pass_time(LATENCY_MS)
        result = call.outcome()
        returned = f" {len(result)} records" if isinstance(result, list) else ""
        self.record(APPLICATION, "", f"{name.partition('(')[0]}() returns{returned}", "call")

    def subscribe(self) -> None:
        """The application wants the topic."""
        self.call_consumer(f'subscribe(["{TOPIC}"], listener)', lambda c: c.subscribe([TOPIC], self.listener))

    def poll(self, timeout_ms: int = 1_000) -> None:
        """The application polls."""
        self.call_consumer(f"poll({timeout_ms})", lambda consumer: consumer.poll(timeout_ms))

    def stable(self) -> Tour:
        """A member that has its partitions, and has returned their records. What follows is the path."""
        self.subscribe()
        self.poll()
        self.pass_time(LATENCY_MS)
        self.entries.clear()
        return self

    def pass_time(self, duration_ms: int) -> None:
        """Time passes; the broker answers."""
        until_ms = self.runtime.now_ms() + duration_ms
        while self.runtime.now_ms() < until_ms:
            self.advance(LATENCY_MS)
            self.answer_all()

    # The broker ------------------------------------------------------------------------------------------------------

    def second_member(self) -> None:
        """Another consumer wants to join the group."""
        self._groups.add_phantom(Phantom(GROUP, self._cluster.topics.partitions_of))
        self._take(self._groups.announce_rebalance(GROUP, self.runtime.now_ms()))
        self.record(BROKER, "", "another consumer joins")

    def answer_all(self) -> None:
        """The broker answers what it was sent before. A Fetch without records waits for some."""
        now_ms, before = self.runtime.now_ms(), list(self.transport.unanswered())
        self._take(self._groups.advance(now_ms))
        for sent in before:
            if isinstance(sent.request, GroupRequest):
                if sent.request_id not in self._asked:
                    self._asked[sent.request_id] = sent.request
                    self._take(self._groups.ask(sent.request_id, sent.request, 1, CALLER, now_ms))
                continue
            response = self._cluster.answer(sent.request, 1)
            assert not isinstance(response, ApiVersionsResponse), "the core does not ask for versions"
            if not isinstance(response, FetchResponse) or is_worth_answering(response, min_bytes=1):
                self._give(sent.request_id, sent.request, response)

    def _take(self, answers: Answers) -> None:
        for request_id, response in answers.items():
            self._give(request_id, self._asked[request_id], response)

    def _give(self, request_id: int, request: Request, response: Response) -> None:
        error = response.error.name
        kind: EntryKind = "response" if error == "NONE" else "error"
        self.record(BROKER, BACKGROUND, f"{_api(request)}: {error}", kind, _response_note(response))
        self.answer(request_id, response)


class _TourDriver(RecordedBackground):
    """Records what passes the two queues, what is sent, and how the state of the rebalance changes."""

    def __init__(self, core: Core, transport: Transport, runtime: Runtime, record: Callable[..., None]) -> None:
        super().__init__(core, transport, runtime)
        self._record = record
        self._state = core.describe().rebalance

    def submit(self, event: ServerEvent) -> None:
        """See Driver: from the application's thread."""
        self._record(APPLICATION, BACKGROUND, type(event).__name__, "call", _fields(event, "topics partitions"))
        super().submit(event)

    def next_consumer_event(self) -> ConsumerEvent | None:
        """See Driver: to the application's thread."""
        event = super().next_consumer_event()
        if event is not None:
            self._record(BACKGROUND, APPLICATION, type(event).__name__, "callback", _fields(event, "partitions error"))
        return event

    def _give(self, event: ServerEvent | ResponseReceived) -> None:
        super()._give(event)
        self._note_state()

    def _do(self, output: Output) -> None:
        self._note_state()
        if isinstance(output, SendRequest):
            note = _fields(output.request, "generation member_id offsets reason")
            self._record(BACKGROUND, BROKER, _api(output.request), "request", note)
        super()._do(output)

    def _note_state(self) -> None:
        state = self.core.describe().rebalance
        if state != self._state:
            self._record(BACKGROUND, "", f"rebalance.{state}")
            self._state = state


def _api(request: Request) -> str:
    return type(request).__name__.removesuffix("Request")


def _response_note(response: Response) -> str:
    if isinstance(response, SyncGroupResponse):
        return _plain("assignment", decode_assignment(response.assignment).partitions)
    if isinstance(response, FetchResponse):
        return "record batches of " + ", ".join(str(tp) for tp, got in response.partitions.items() if got.record_bytes)
    leads = isinstance(response, JoinGroupResponse) and response.leader and response.leader == response.member_id
    return _fields(response, "generation member_id node_id") + (", it leads" if leads else "")


def _fields(said: object, names: str) -> str:
    """Some fields of an event or a request, as far as they say something."""
    told = {name: getattr(said, name, None) for name in names.split()}
    return ", ".join(_plain(name, value) for name, value in told.items() if value not in (None, "", -1))


def _plain(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{partition} at {getattr(at, 'offset', at)}" for partition, at in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "no partitions"
    said = f"{str(value).partition('-')[0]}-..." if name == "member_id" else value
    return f"{name.replace('_', ' ')} {said}"


# The paths -----------------------------------------------------------------------------------------------------------


def _join(tour: Tour) -> None:
    """From the first poll to the first records."""
    tour.subscribe()
    tour.poll()


def _heartbeat(tour: Tour) -> None:
    """Signs of life, each an interval after the last, while the application does something else."""
    tour.stable().pass_time(2 * HEARTBEAT_MS)


def _revocation(tour: Tour) -> None:
    """A second member joins, and one of two partitions moves to it: two generations; the other partition stays."""
    tour.stable().second_member()
    tour.pass_time(HEARTBEAT_MS)
    tour.poll(100)


def _commit(tour: Tour) -> None:
    """The application commits what it has read, and waits for the answer."""
    tour.stable().call_consumer("commit()", lambda consumer: consumer.commit())


def _leave(tour: Tour) -> None:
    """The consumer is closed: commit, callback, LeaveGroup."""
    tour.stable().call_consumer("close()", lambda consumer: consumer.close())


def _poll_timeout(tour: Tour) -> None:
    """The application does not poll for max.poll.interval.ms: the member leaves; the next poll is told, and joins."""
    tour.stable().record(APPLICATION, "", f"works for {POLL_INTERVAL_MS // 1000} seconds, and does not poll")
    tour.pass_time(POLL_INTERVAL_MS)
    tour.poll(100)


@dataclass(frozen=True)
class Path:
    """One path: the picture's title, the script, the consumer's settings, and whether fetching is shown."""

    title: str
    script: Callable[[Tour], None]
    settings: Settings = field(default_factory=lambda: Settings())
    fetches: bool = False


PATHS: Final[Mapping[str, Path]] = {
    "join": Path("subscribe() and the first poll(): the consumer joins its group and reads", _join, fetches=True),
    "heartbeat": Path("Heartbeats go on while the application does not call", _heartbeat),
    "revocation": Path(
        "A cooperative rebalance takes one of two partitions away",
        _revocation,
        Settings(partition_assignment_strategy=("cooperative-sticky",)),
    ),
    "commit": Path("commit()", _commit),
    "leave": Path("close() with enable.auto.commit", _leave, Settings(enable_auto_commit=True)),
    "poll-timeout": Path(
        "max.poll.interval.ms is over",
        _poll_timeout,
        Settings(max_poll_interval_ms=POLL_INTERVAL_MS, session_timeout_ms=POLL_INTERVAL_MS),
    ),
}
"""Every path of the tour by the name of its picture."""


def recorded(path: str) -> list[Entry]:
    """What passed between the threads and the broker on a path."""
    with Tour(fetches=PATHS[path].fetches, **PATHS[path].settings) as tour:
        PATHS[path].script(tour)
        return tour.entries


def tour_svg(path: str) -> str:
    """The picture of a path."""
    return sequence_svg((APPLICATION, BACKGROUND, BROKER), recorded(path), PATHS[path].title)
