"""The coordinator and the brokers of a scenario, and what they keep.

What must hold of a request's contents is checked here, when it arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from groupspec.conformance.schedules.answers import (
    BEHIND,
    CUT,
    GARBLED,
    LEADERLESS,
    LEFT_OUT,
    LOST,
    MOVED,
    NEVER,
    ONE,
    SLOW,
    WITHOUT_COMMITS,
)
from groupspec.conformance.schedules.logs import Logs
from groupspec.conformance.schedules.network import RacingTransport
from groupspec.conformance.schedules.others import Others
from groupspec.conformance.schedules.scenario import TOPICS, Scenario
from groupspec.conformance.schedules.topics import OF_KAFKA, Topics
from groupspec.impl.core.events import COORDINATOR, SendRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedOffset,
    FetchRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetForLeaderEpochRequest,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicPartition,
)
from groupspec.impl.core.protocol import decode_subscription
from groupspec.impl.scheduling import ScheduledRuntime
from groupspec.impl.scripted import ScriptedCoordinator, api_of

FIRST_COMMITTED: Final = 10
POLICIES: Final = {-2: "earliest", -1: "latest"}
"""By the timestamps of ListOffsets."""

BEGINNING, END = sorted(POLICIES)

MOMENTS: Final = {1_000: 40, 10**12: -1}
"""Times, and the offset of the first record that is not older; -1: there is none."""

SLOW_MS: Final = 2_500
NO_ERRORS: Final[Mapping[TopicPartition, ErrorCode]] = {}


class RacingGroup:
    """The group's and the partitions' state, as brokers keep it.

    Attributes:
        committed: Partition -> the offset that is committed.
        epochs: Partition -> the leader epoch that came with it.
        notes: Partition -> the metadata that came with it.
        logs: What Fetch brings.
        starts: Partition -> the offsets to begin at that were answered for the present assignment.
        starts_anew: Those of a topic that was made anew.
        sought: Partitions of which the application wants an end of the log: what is committed is no start any more.
        answered: Every offset to begin at that was ever answered.
        answered_anew: The same.
        commits: Every commit of a partition, in their order.
        requests: How many came in all.
        asked: Partitions and timestamps that the application has asked about, or sought.
    """

    def __init__(self, runtime: ScheduledRuntime, scenario: Scenario, transport: RacingTransport) -> None:
        self._runtime = runtime
        self.topics = Topics(runtime, scenario)
        self._coordinator = ScriptedCoordinator(self.topics.counts, leader="" if scenario.leads else "somebody-else")
        self._coordinator.leads = 1 if scenario.leaders == 1 else 0
        self._scenario = scenario
        self._answers = {api: list(errors) for api, errors in scenario.answers.items()}
        self._shares = list(scenario.shares)
        self._transport = transport
        self._issued: set[tuple[str, int]] = {("", -1)}
        self._member_ids = {""}
        self._wanted: tuple[str, ...] = ()  # by its last JoinGroup
        self._others = Others(scenario)
        self._known: dict[str, int] = {}  # topics and their partitions, to somebody else who leads and watches them
        self._offered: tuple[str, ...] = ()  # the protocols of its last JoinGroup
        self._chosen: dict[int, str | None] = {}  # by generation: the group's protocol
        self._divided: set[TopicPartition] = set()  # by its last SyncGroup, if it leads
        self._returns, self._stands = scenario.returns, False  # to a group whose division stands in this round
        self._has_moved = False
        self._last_commit: dict[TopicPartition, tuple[str, int, int]] = {}  # member id, generation, offset
        self._given_up_at: dict[TopicPartition, int] = {}
        self._slow_ms: list[tuple[int, int]] = []  # since when, and until when
        self.logs = Logs(runtime, scenario, self.topics)
        self.committed: dict[TopicPartition, int] = {}
        self.epochs: dict[TopicPartition, int] = {}
        self.notes: dict[TopicPartition, str] = {}
        self.starts: dict[TopicPartition, set[int]] = {}
        self.sought: set[TopicPartition] = set()
        self.starts_anew: dict[TopicPartition, set[int]] = {}
        self.answered: set[tuple[TopicPartition, int]] = set()
        self.answered_anew: set[tuple[TopicPartition, int]] = set()
        self._has_deleted = False
        self.commits: list[tuple[TopicPartition, int]] = []
        self.may_commit: Callable[[int, TopicPartition, OffsetAndMetadata], bool] = lambda _, __, ___: True
        self.hears: Callable[[str], None] = lambda _: None
        self.known_topics: Callable[[], Collection[str]] = lambda: TOPICS
        self.requests = 0
        self.asked: set[tuple[TopicPartition, int]] = set()
        transport.serve = self.serve

    def serve(self, sent: SendRequest) -> Response | None:
        """The answer to a request; None: there will be none."""
        self.requests += 1
        self.topics.pass_time()
        self._check_identity(sent.request)
        errors = self._answers.get(api_of(sent.request), [])
        error = errors.pop(0) if errors else ""
        if error == MOVED:
            self._has_moved = True
        if self._has_moved and sent.node == COORDINATOR:
            error = "NOT_COORDINATOR"
        if isinstance(sent.request, LeaveGroupRequest):
            self._member_ids.discard(sent.request.member_id)
            self._issued = {(name, generation) for name, generation in self._issued if name != sent.request.member_id}
        if error == NEVER:
            return None
        if error.startswith(SLOW) and not self._runtime.timers_race:
            began_ms = self._runtime.now_ms()
            self._slow_ms.append((began_ms, began_ms + self._scenario.latency_ms + SLOW_MS))
        if self._scenario.latency_ms:
            self._runtime.sleep_ms(self._scenario.latency_ms)
        if error.startswith(SLOW):
            self._runtime.sleep_ms(SLOW_MS)
            error = error.removeprefix(SLOW).strip()
        if error == LEFT_OUT and isinstance(sent.request, OffsetFetchRequest):
            return self._committed(sent.request_id, sent.request.partitions[1:])
        if error == BEHIND and isinstance(sent.request, MetadataRequest):
            return self._granted(sent, is_behind=True)
        if error == GARBLED and isinstance(sent.request, SyncGroupRequest):
            synced = self._granted(sent)
            assert isinstance(synced, SyncGroupResponse)
            return replace(synced, assignment=synced.assignment[:-1])
        if error == LEADERLESS and isinstance(sent.request, MetadataRequest):
            return _without_first_leaders(self._granted(sent))
        if error.startswith(ONE) and isinstance(sent.request, OffsetCommitRequest):
            first = next(iter(sent.request.offsets))
            errors_of_parts = {first: ErrorCode[error.removeprefix(ONE).strip()]}
            return self._committed_at(sent.request_id, sent.request, errors_of_parts)
        answer = self._granted(sent) if error in ("", LOST) else None
        if answer is not None and error != LOST:
            return answer
        code = ErrorCode.DISCONNECTED if error in (CUT, LOST) else ErrorCode[error]
        return self._named(self._coordinator.answer(sent.request, code))

    def holds_back(self, from_ms: int, until_ms: int) -> None:
        """The member was told to send nothing meanwhile."""
        self._slow_ms.append((from_ms, until_ms))

    def idle_ms(self, since_ms: int) -> int:
        """For how long since then no broker has been slow, answers in between apart. Is not known while timers race."""
        at_ms, gaps_ms = since_ms, []
        for began_ms, until_ms in (*sorted(self._slow_ms), (self._runtime.now_ms(), 0)):
            gaps_ms.append(began_ms - at_ms)
            at_ms = max(at_ms, until_ms)
        return sum(gap_ms for gap_ms in gaps_ms if gap_ms > self._scenario.latency_ms)

    def _granted(self, sent: SendRequest, is_behind: bool = False) -> Response:
        self.hears(api_of(sent.request))
        self.logs.pass_time()
        if self._scenario.away_ms:
            self.topics.pass_time()
            self._delete()
        match sent.request:
            case FindCoordinatorRequest():
                self._has_moved = False
            case JoinGroupRequest() as request:
                self._wanted = decode_subscription(request.protocols[0][1]).topics
                self._offered = tuple(name for name, _ in request.protocols)
                return self._named(self._coordinator.answer(request))
            case HeartbeatRequest() as request if self._scenario.leads and self._others.wait(self._runtime.now_ms()):
                return self._coordinator.answer(request, ErrorCode.REBALANCE_IN_PROGRESS)
            case HeartbeatRequest() as request if self._have_sizes_changed():
                return self._coordinator.answer(request, ErrorCode.REBALANCE_IN_PROGRESS)
            case SyncGroupRequest() as request:
                return self._synced(request)
            case FetchRequest() as request:
                return self.logs.fetched(request, sent.node)
            case OffsetForLeaderEpochRequest() as request:
                return self.logs.compared(request, sent.node)
            case OffsetFetchRequest() as request:
                of_another = self._of_another(request.partitions, request.topic_ids)
                found = self._committed(sent.request_id, [tp for tp in request.partitions if tp not in of_another])
                unknown = dict.fromkeys(of_another, FetchedOffset(-1, error=ErrorCode.UNKNOWN_TOPIC_ID))
                return replace(found, offsets={**found.offsets, **unknown})
            case ListOffsetsRequest() as request:
                return self._listed(request, sent)
            case OffsetCommitRequest() as request:
                return self._committed_at(sent.request_id, request)
        answer = self._coordinator.answer(sent.request)
        if isinstance(answer, MetadataResponse):
            answer = self.logs.led(answer, is_behind)
            is_list = isinstance(sent.request, MetadataRequest) and sent.request.topics is None
            return replace(answer, topics=(*answer.topics, OF_KAFKA)) if is_list else answer
        return answer

    def _delete(self) -> None:
        """What is committed of a topic ends with it."""
        if self._has_deleted or not self.logs.is_deleted(TOPICS[0]):
            return
        self._has_deleted = True
        for known in (self.committed, self.epochs, self.notes, self._last_commit):
            for partition in [partition for partition in known if partition.topic == TOPICS[0]]:
                del known[partition]

    def _have_sizes_changed(self) -> bool:
        """Whether somebody else, who leads, knows that topics have other partitions than when they were divided."""
        sizes = self.topics.sizes(self._wanted)
        if self._scenario.overlooked:
            sizes = {topic: count or self._known.get(topic, 0) for topic, count in sizes.items()}
        return bool(self._known) and sizes != self._known

    def _named(self, answer: Response) -> Response:
        """The answer to a JoinGroup gives the member its name, and maybe a generation."""
        if isinstance(answer, JoinGroupResponse):
            self._member_ids.add(answer.member_id)
            if not answer.error:
                answer = self._choose(answer)
                self._issued.add((answer.member_id, answer.generation))
            self._stands, self._returns = self._returns and not answer.error, self._returns and bool(answer.error)
            if self._stands:
                return replace(answer, skip_assignment=True)
            if answer.members:
                itself, now_ms = answer.members[0], self._runtime.now_ms()
                others = self._others.join(itself.member_id, itself.metadata, answer.generation, now_ms)
                return replace(answer, members=(itself, *others))
        return answer

    def _choose(self, answer: JoinGroupResponse) -> JoinGroupResponse:
        """What all members offer may be another protocol in the next generation; a member that leads has its first."""
        if self._offered and not self._scenario.leads:
            answer = replace(answer, protocol_name=self._offered[answer.generation % len(self._offered)])
        self._chosen[answer.generation] = answer.protocol_name
        return answer

    def _synced(self, request: SyncGroupRequest) -> Response:
        chosen = self._chosen.get(request.generation)
        assert request.protocol_name == chosen, (
            f"SyncGroup names the protocol {request.protocol_name}, and the group's is {chosen} (KIP-559)"
        )
        if self._scenario.leads:
            return self._coordinator.answer(request, assigned=self._divide(request))
        self._known = self.topics.sizes(self._wanted)
        share = self._shares.pop(0) if len(self._shares) > 1 else self._shares[0]
        numbers = {topic: share if topic == TOPICS[0] else share[:1] for topic in self._wanted}
        if self._scenario.overlooked:
            divided = tuple(TopicPartition(topic, number) for topic, some in numbers.items() for number in some)
        else:
            divided = tuple(self.topics.of(numbers, self._wanted))
        return self._coordinator.answer(request, assigned=divided)

    def _divide(self, request: SyncGroupRequest) -> tuple[TopicPartition, ...]:
        if self._stands:
            assert not request.assignments, "a leader that comes back divides what is divided (KIP-814)"
            self._divided = self.topics.all_of(self._wanted)
            return tuple(sorted(self._divided))
        shares = self._others.given(request.assignments, self.known_topics())
        self._divided = {partition for share in shares.values() for partition in share}
        return shares[request.member_id]

    def undivided(self) -> set[TopicPartition]:
        """What the member has given to nobody, if it leads: then that is for it to notice (rule J8)."""
        if not self._scenario.leads:
            return set()
        return self.topics.all_of({*self._wanted, *self._others.wanted}) - self._divided

    def closes(self) -> None:
        """The consumer is being closed: the brokers answer as they do then."""
        self._answers |= {api: list(errors) for api, errors in self._scenario.at_close.items()}

    def may_fail(self) -> bool:
        """Whether an answer is still to come that keeps a commit from its outcome."""
        if self._scenario.connections_end:
            return True
        return any(set(errors) - {""} for api, errors in self._answers.items() if api not in WITHOUT_COMMITS)

    def last_sent(self) -> int:
        """The number of the request that the member has sent last; 0: none."""
        return self._transport.sent[-1].request_id if self._transport.sent else 0

    def given_up(self, partitions: Iterable[TopicPartition]) -> None:
        """The application has let go of these: what was asked for before says nothing of their next assignment."""
        for partition in partitions:
            self._given_up_at[partition] = self.last_sent()
            self.starts[partition], self.starts_anew[partition] = set(), set()
            self.sought.discard(partition)

    def _of_another(self, partitions: Iterable[TopicPartition], topic_ids: Mapping[str, bytes]) -> set[TopicPartition]:
        """Those whose topic has another id by now than the request says."""
        return {tp for tp in partitions if self.logs.is_of_another(tp.topic, topic_ids)}

    def _committed(self, request_id: int, partitions: Iterable[TopicPartition]) -> OffsetFetchResponse:
        found = {partition: self.known(partition) for partition in partitions}
        for partition, offset in found.items():
            if offset is not None:
                self._may_begin(request_id, partition, offset, is_start=partition not in self.sought)
        return OffsetFetchResponse(
            {p: FetchedOffset(-1 if at is None else at, "", self.epochs.get(p, -1)) for p, at in found.items()}
        )

    def known(self, partition: TopicPartition) -> int | None:
        """What is committed for it."""
        first = 0 if self._scenario.from_start else FIRST_COMMITTED
        has_none = self._has_deleted and partition.topic == TOPICS[0]
        is_fresh = has_none or partition.partition in self._scenario.fresh
        return self.committed.get(partition, None if is_fresh else first)

    def _listed(self, request: ListOffsetsRequest, sent: SendRequest) -> Response:
        epochs, refuses = request.leader_epochs, self.logs.refusal
        errors = {tp: refuses(tp, sent.node, epochs.get(tp, -1)) for tp in request.timestamps}
        return ListOffsetsResponse(
            {
                tp: ListedOffset(-1, errors[tp]) if errors[tp] else self._listed_at(sent.request_id, tp, timestamp)
                for tp, timestamp in request.timestamps.items()
            }
        )

    def _listed_at(self, request_id: int, partition: TopicPartition, timestamp: int) -> ListedOffset:
        if timestamp in MOMENTS:
            return ListedOffset(MOMENTS[timestamp], timestamp_ms=timestamp)
        asked = (partition, timestamp) in self.asked
        offset = self.logs.limit(partition.topic, POLICIES[timestamp])
        may_be_reset = partition.partition in self._scenario.fresh or bool(self.logs.anew(partition))
        assert asked or may_be_reset, f"{partition} is reset although an offset is committed (rule O1)"
        is_policy = POLICIES[timestamp] == self._scenario.reset
        assert asked or is_policy, f"{partition} is reset to the wrong end (rule O6)"
        self._may_begin(request_id, partition, offset)
        return ListedOffset(offset)

    def _may_begin(self, request_id: int, partition: TopicPartition, offset: int, is_start: bool = True) -> None:
        is_anew = self.logs.is_anew(partition.topic)
        is_present = is_start and request_id > self._given_up_at.get(partition, 0)
        self.answered.add((partition, offset))
        if is_present:
            self.starts.setdefault(partition, set()).add(offset)
        if is_anew:
            self.answered_anew.add((partition, offset))
        if is_anew and is_present:
            self.starts_anew.setdefault(partition, set()).add(offset)

    def _commit(self, request_id: int, request: OffsetCommitRequest) -> None:
        for partition, wanted in request.offsets.items():
            self._expect_forwards(request, partition, wanted.offset)
            assert self.may_commit(request_id, partition, wanted), (
                f"{partition} is committed at {wanted.offset}, which the application has never reached (rule M4)"
            )
            self.committed[partition], self.notes[partition] = wanted.offset, wanted.metadata
            self.epochs[partition] = -1 if self._scenario.remakes else wanted.leader_epoch
            self.commits.append((partition, wanted.offset))

    def _committed_at(
        self, request_id: int, request: OffsetCommitRequest, errors: Mapping[TopicPartition, ErrorCode] = NO_ERRORS
    ) -> Response:
        """These partitions have these errors, and those that are not there another one; the others are committed."""
        gone = {tp: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for tp in request.offsets if not self.topics.has(tp)}
        of_another = self._of_another(request.offsets, request.topic_ids)
        refused = {**errors, **gone, **dict.fromkeys(of_another, ErrorCode.UNKNOWN_TOPIC_ID)}
        accepted = {tp: at for tp, at in request.offsets.items() if tp not in refused}
        self._commit(request_id, replace(request, offsets=accepted))
        return OffsetCommitResponse({tp: refused.get(tp, ErrorCode.NONE) for tp in request.offsets})

    def _expect_forwards(self, request: OffsetCommitRequest, partition: TopicPartition, offset: int) -> None:
        """Commits come in the order of the calls, and no automatic one rewinds them: without seek() the offsets grow.

        One whose outcome nobody has heard may be rewound by an automatic one, which covers what was processed; and by
        nobody's, one of before an unsubscribe(): what is assigned by hand again is read from what was committed then.
        """
        *identity, before = self._last_commit.get(partition, (request.member_id, request.generation, 0))
        is_same = identity == [request.member_id, request.generation]
        scenario = self._scenario
        gives_up = scenario.slow_answers > 1 and bool({"commit", "commit one"} & scenario.all_calls)
        unheard = scenario.auto_commit and (scenario.commits_fail or scenario.timers_race or gives_up)
        again = scenario.manual and scenario.commits_async and "unsubscribe" in scenario.all_calls
        may_go_back = scenario.seeks or unheard or again or scenario.elects_ms or scenario.holes
        assert offset >= before or not is_same or may_go_back, (
            f"{partition} is committed at {offset} after {before} (rule M6)"
        )
        self._last_commit[partition] = (request.member_id, request.generation, offset)

    def _check_identity(self, request: Request) -> None:
        """A member names itself as it was named, in a generation that it was given, until it leaves (J4, M1, L3)."""
        match request:
            case JoinGroupRequest(member_id=member_id) | LeaveGroupRequest(member_id=member_id):
                assert member_id in {"", *self._member_ids}, f"{api_of(request)} by {member_id!r}, who is no member"
            case (
                SyncGroupRequest(member_id=member_id, generation=generation)
                | HeartbeatRequest(member_id=member_id, generation=generation)
                | OffsetCommitRequest(member_id=member_id, generation=generation)
            ):
                assert (member_id, generation) in self._issued, (
                    f"{api_of(request)} by {member_id!r} of generation {generation}, which is none of its own"
                )


def _without_first_leaders(answer: Response) -> Response:
    """Metadata in which the first partition of each topic has no leader."""
    assert isinstance(answer, MetadataResponse)
    none = {
        topic.topic: tuple(replace(p, leader=p.leader if p.partition else -1) for p in topic.partitions)
        for topic in answer.topics
    }
    return replace(answer, topics=tuple(replace(topic, partitions=none[topic.topic]) for topic in answer.topics))
