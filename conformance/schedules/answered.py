"""What one member knows of itself, its group and its coordinator, by the answers that it has taken.

The network hears everything that the member's threads do: what it sends, and which answers it takes. So what must hold
of a request (`requests`) is said in terms of these and of what the application owns, and needs no look into the member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from groupspec.conformance.schedules.answers import REFUSALS
from groupspec.conformance.schedules.asking import EVERYTHING, Asking
from groupspec.conformance.schedules.claims import Claims
from groupspec.conformance.schedules.finding import COORDINATOR_IS_GONE, OF_A_COMMIT, Finding
from groupspec.conformance.schedules.rounds import Rounds
from groupspec.conformance.schedules.scenario import ASKS_TOPICS, Scenario
from groupspec.conformance.schedules.times import LOOK_MS, SETTINGS, Times
from groupspec.impl.core.events import COORDINATOR, ResponseReceived, SendRequest
from groupspec.impl.core.messages import (
    NO_TOPIC_ID,
    ErrorCode,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    MetadataRequest,
    MetadataResponse,
    OffsetCommitRequest,
    OffsetFetchRequest,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicPartition,
)
from groupspec.impl.core.protocol import MalformedProtocolData, decode_assignment
from groupspec.impl.scripted import api_of

IDENTITY_IS_GONE: Final = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION}
ROUND: Final = (JoinGroupRequest, SyncGroupRequest)

GROUP_REQUESTS: Final = (JoinGroupRequest, SyncGroupRequest, HeartbeatRequest, LeaveGroupRequest, OffsetCommitRequest)
OF_THE_GROUP: Final = (JoinGroupRequest, SyncGroupRequest, HeartbeatRequest)
"""Requests that nobody waits for: what they are refused is for the next poll() to tell (rule H4)."""

FOR_THE_APPLICATION: Final = {ErrorCode.FENCED_INSTANCE_ID, *(ErrorCode[name] for name in REFUSALS)}


class Answered:
    """What follows from the answers that one member has taken.

    Args:
        scenario: What happens to the member.
        at_once: Whether the thread that takes an answer out of the network is the one that sends all requests, so that
            nothing is sent before the answer has had its effect.

    Attributes:
        doing: Its call, if it is "close" or "unsubscribe".
        closes_meanwhile: Whether another thread has begun to close it.
        fenced: Whether the member knows that another process has its instance id.
        maybe_fenced: Whether it knows that only if it has taken the answer to a commit for which time was over.
        named: The name that the member has used last, and has not given back.
        rounds: Its rebalances.
        finding: What it knows of its coordinator.
        asking: What it asks brokers for.
        claims: What it says of itself as it joins.
        refused_ms: When it was last refused its coordinator for good.
        parted_ms: When the group has last answered that it leaves, or its coordinator was given up.
        disowned_ms: When it was last told that it is no member, or of another generation.
        refusals: What it was ever refused for good, or because another process has its name.
        to_tell: Which of these its application has to be told of.
        times: When it must do what.
        leaving: Whether an unsubscribe is under way, maybe longer than its call was.
        left: Whether it has sent LeaveGroup, and no JoinGroup since.
        identities: For whom it has ever taken itself.
        is_garbled: Whether an assignment of its was ever such that it cannot be read.
        topic_ids: Topic -> the ids that it was told of, and when.
    """

    def __init__(self, scenario: Scenario, at_once: bool = True) -> None:
        self._scenario = scenario
        self._at_once = at_once
        self._learned_ms = self._heard_ms = 0
        self._unanswered: dict[int, SendRequest] = {}
        self._identity = ("", -1)
        self.identities = {self._identity}
        self.topic_ids: dict[str, dict[bytes, int]] = {}
        self._maybe = {self._identity}  # while answers are being worked off, one after the other
        self._gives_up = False  # on the coordinator, as it has been told to; not yet carried out
        self._drops = False  # maybe what else has come at this moment, before it is looked at
        self._before_drop: tuple[str, int] | None = None  # who it was as the first of that was taken
        self._out_of_time: set[int] = set()  # the commits that were given up
        self._is_out_of_time = False  # the one whose answer is being looked at
        self._given_up_as: tuple[str, int] | None = None  # who it was, if it left in the round that was answered last
        self._silent = False  # fenced before the answers that are being worked off
        self._lost_ms: int | None = None  # when its membership has ended against its will
        self._counts_of_topics: dict[str, int] = {}
        self._topics: set[str] = set()  # of which it was ever told the partitions, the latest answers apart
        self._latest_topics: set[str] = set()
        self._given = ""  # the id that it was told to join with
        self._kept_name: str | None = None  # of who has just lost its generation, "" if the id is lost too
        self.times = Times(SETTINGS)
        self.times.repeats = not (scenario.auto_commit or scenario.commits_async)
        self.claims = Claims(scenario)
        self.named = ""
        self.rounds = Rounds()
        excused = scenario.timers_race or bool(scenario.breaks)
        self.finding = Finding(SETTINGS["session_timeout_ms"], SETTINGS["max_poll_interval_ms"], excused)
        self.asking = Asking(scenario, at_once)
        self.refused_ms = self.parted_ms = 0
        self.disowned_ms = -1
        self.doing = ""
        self.closes_meanwhile = False
        self.refusals: set[ErrorCode] = set()
        self.to_tell: set[ErrorCode] = set()
        self.fenced = self.maybe_fenced = False
        self.leaving = False
        self.left = False
        self.is_garbled = False

    def answered(self, responses: Iterable[ResponseReceived], now_ms: int) -> None:
        """The member takes these, one after the other, before it waits again."""
        self.asking.turned()
        self._topics |= self._latest_topics
        if not self._lies_about(now_ms):
            self._maybe = {self._identity}
            self._silent, self._before_drop = self.fenced, None
            self._gives_up = self._drops = False  # what was heard before has had its effect, or none
            self.finding.hears()
        for received in responses:
            errors = _errors(received.response)
            self.finding.answered(received.response, errors, now_ms)
            sent = self._unanswered.pop(received.request_id, None)
            self._is_out_of_time = received.request_id in self._out_of_time
            if sent is not None:
                self._heard_ms = now_ms if _of_coordinator(sent) else self._heard_ms
                self.asking.answered(sent, received.response, errors, now_ms)
                self._learn(sent.request, received.response, errors, now_ms)
                self._maybe.add(self._identity)
                self.identities.add(self._identity)
                self._learned_ms = now_ms

    def _lies_about(self, now_ms: int) -> bool:
        """Whether the last answer may wait for its turn in the core, as in the heartbeat design."""
        return not self._at_once and (self._scenario.timers_race or now_ms <= self._learned_ms + LOOK_MS)

    def _learn(self, request: Request, response: Response, errors: set[ErrorCode], now_ms: int) -> None:
        self.times.answered(request, response, errors, now_ms)
        refused = errors & FOR_THE_APPLICATION
        self.refusals |= refused
        self.disowned_ms = now_ms if errors & IDENTITY_IS_GONE else self.disowned_ms
        heard = self._counts(request) and not (self.doing or self._may_have_left() or self._gives_up or self._drops)
        is_late = isinstance(request, HeartbeatRequest) and self._may_join()
        if heard and isinstance(request, OF_THE_GROUP) and not is_late:
            self.to_tell |= refused
        if isinstance(request, OffsetCommitRequest) and errors & OF_A_COMMIT and self._waits_for_commit(request):
            self.finding.gone()
        if self._counts(request):
            fences = ErrorCode.FENCED_INSTANCE_ID in errors and not self._gives_up
            # Also by a heartbeat that a JoinGroup, let go by the answer just before, may have overtaken (rule H3).
            self.maybe_fenced |= fences and (self._drops or is_late or self._may_be_given_up(request))
            self.fenced |= fences
            is_gone = bool(errors & COORDINATOR_IS_GONE) and isinstance(request, GROUP_REQUESTS)
            closes = isinstance(request, ROUND) and (self.doing == "close" or self.closes_meanwhile)
            given_up = is_late or closes or self._may_have_left()  # maybe: nobody waits for this any more
            self._gives_up |= is_gone and not given_up
            self._drops |= is_gone and given_up
            if is_gone and isinstance(request, OF_THE_GROUP) and not given_up:
                self.finding.gone()
        if isinstance(request, OffsetFetchRequest) and errors & COORDINATOR_IS_GONE and self._waits_for_offsets():
            self.finding.gone()
        if isinstance(request, OffsetFetchRequest | LeaveGroupRequest) and errors & COORDINATOR_IS_GONE:
            self.rounds.may_come(now_ms)
            self._drops = True
            self._before_drop = self._identity
        if isinstance(request, FindCoordinatorRequest):
            self._gives_up = self._drops = False
            self.refused_ms = now_ms if refused else self.refused_ms
            self.to_tell |= refused if not (self.doing or self.closes_meanwhile) else set()
        if isinstance(request, LeaveGroupRequest):
            self.parted_ms = now_ms
        share = _share_in(response)
        if isinstance(response, SyncGroupResponse) and not response.error and share is None:
            self.is_garbled = True
            self.rounds.may_come(now_ms)
        if share is not None:
            self.rounds.ends(share, self._scenario.cooperative, now_ms)
            given_up = self.leaving or self._gives_up or self._drops  # maybe: the round, before this came
            if given_up:
                self.rounds.may_come(now_ms)
            self.claims.assigned(share, self._identity[1], is_certain=not given_up, may_drop=self._drops)
        if ErrorCode.REBALANCE_IN_PROGRESS in errors:
            self._announced(request, now_ms)
        if isinstance(response, MetadataResponse):
            self._compare(request, response, now_ms)
        if isinstance(response, JoinGroupResponse) and response.error is ErrorCode.MEMBER_ID_REQUIRED:
            self._given = response.member_id
        given_up = self._gives_up or self._drops or self._may_be_given_up(request)
        if isinstance(response, JoinGroupResponse) and not response.error:
            leaves = self.doing or self.leaving or self.closes_meanwhile
            self._given_up_as = self._identity if leaves else None
            self._identity = (response.member_id, response.generation)
        elif errors & IDENTITY_IS_GONE and self._counts(request) and not (given_up or self._is_certainly_fenced()):
            name, is_unknown = self._identity[0], ErrorCode.UNKNOWN_MEMBER_ID in errors
            leaving, fenced = self.leaving, self.fenced  # the latter: maybe
            self.membership_ended()
            self.leaving, self.fenced, self.maybe_fenced = leaving, fenced, fenced
            self._kept_name = ("" if is_unknown else name) if name else None
            self._lost_ms = now_ms

    def _is_certainly_fenced(self) -> bool:
        return self.fenced and not self.maybe_fenced

    def _may_join(self) -> bool:
        """Whether what it takes just before may make it join, so that nobody waits for the heartbeat's answer.

        That is the answer to the commit that its JoinGroup waits for, be it for other topics, or metadata, if it leads.
        """
        chosen, rounds = self.asking.subscribed, self.rounds
        others = rounds.is_called_for() if EVERYTHING in chosen else chosen != rounds.topics
        return self._scenario.leads or rounds.joins < rounds.due or others

    def _compare(self, request: Request, metadata: MetadataResponse, now_ms: int) -> None:
        """A leader wants a rebalance if topics have other partitions than before, a pattern if others match."""
        counts = {topic.topic: len(topic.partitions) for topic in metadata.topics if not topic.error}
        self._latest_topics |= set(counts)
        for topic in (topic for topic in metadata.topics if topic.topic_id != NO_TOPIC_ID):
            self.topic_ids.setdefault(topic.topic, {}).setdefault(topic.topic_id, now_ms)
        lists = isinstance(request, MetadataRequest) and request.topics is None
        asked = set(self._counts_of_topics) if lists else {topic.topic for topic in metadata.topics}
        if gone := (asked - set(counts)) & set(self._counts_of_topics):
            self._counts_of_topics = {tp: n for tp, n in self._counts_of_topics.items() if tp not in gone}
            self.rounds.may_come(now_ms)
            if EVERYTHING in self.asking.subscribed:
                self.rounds.vanished(gone)
        asks = bool({*ASKS_TOPICS} & self._scenario.all_calls)  # whose answer is not the one that the leader goes by
        if asks or not counts.items() <= self._counts_of_topics.items():
            self._counts_of_topics |= counts
            self.rounds.may_come(now_ms)

    def known_topics(self) -> set[str]:
        """Those whose partitions it knows: what it was told once stays true while their leaders are being elected."""
        return set(self._topics)

    def _announced(self, request: Request, now_ms: int) -> None:
        """The group rebalances; whoever is in a round knows, also a leader that waits for metadata."""
        in_round, given_up = self.rounds.share is None or self.in_round(), self._gives_up or self._drops
        if isinstance(request, HeartbeatRequest) and self._counts(request) and not (in_round or given_up):
            self.rounds.must_come()
        elif isinstance(request, OffsetCommitRequest):
            self.rounds.may_come(now_ms)

    def _may_be_given_up(self, request: Request) -> bool:
        """A commit whose time is over as its answer comes; nobody can tell from outside which was first."""
        ends = self._is_out_of_time or self.doing == "close" or self.closes_meanwhile or self._scenario.timers_race
        return ends and isinstance(request, OffsetCommitRequest)

    def commit_out_of_time(self, since: int) -> None:
        """commit() has given up, which was called after this request: what is under way of before is another one's."""
        self._out_of_time |= {number for number in self._unanswered if number > since}

    def _waits_for_commit(self, request: OffsetCommitRequest) -> bool:
        """Whether it has certainly not given this commit up: it had no time limit, and nothing has ended meanwhile."""
        scenario = self._scenario
        ended = self.doing or self.leaving or self.left or self.closes_meanwhile or self._gives_up or self._drops
        if ended or scenario.timers_race or {"commit", "commit one", "commit nothing"} & scenario.all_calls:
            return False
        return scenario.manual or (self._counts(request) and self.rounds.share is not None)

    def _waits_for_offsets(self) -> bool:
        """Whether it has certainly not given this question up: nobody asks with a time limit, and nothing has ended."""
        asks = "committed" in self._scenario.all_calls
        ended = self.doing or self.closes_meanwhile or self._gives_up or self._drops
        return not (asks or ended or self._scenario.timers_race)

    def _may_have_left(self) -> bool:
        """Who unsubscribes gives its round up; a static member says nothing when its poll interval is over."""
        scenario = self._scenario
        return self.left or self.leaving or (scenario.static and (scenario.works_long or scenario.timers_race))

    def _counts(self, request: Request) -> bool:
        """Whether its answer says anything of this membership: not if it was sent before the JoinGroup that is out."""
        present = identity_of(request) == self._identity and self.in_round() != "JoinGroup"
        return present or isinstance(request, JoinGroupRequest)

    def membership_ended(self) -> None:
        """A round that was under way is none of the next membership."""
        self._identity = ("", -1)
        self.leaving = self.fenced = self.maybe_fenced = False
        self.named = self._given = ""
        self._kept_name = None
        self.rounds.membership_ended()
        self.times.excused()
        self._forget(lambda sent: isinstance(sent.request, ROUND))

    def leaves(self) -> None:
        """The application unsubscribes; the call may give up before the member does."""
        self.leaving = True

    def disconnected(self, now_ms: int) -> None:
        """The coordinator is gone: nobody waits for its answers any more, though they may come."""
        self.finding.disconnected(now_ms)
        if self._lies_about(now_ms):
            self.claims.may_have_dropped()
        self._identity, self._before_drop = self._before_drop or self._identity, None
        self.parted_ms = now_ms
        self.times.disconnected()
        self._forget(lambda sent: sent.node == COORDINATOR)

    def _forget(self, which: Callable[[SendRequest], bool]) -> None:
        self._unanswered = {number: sent for number, sent in self._unanswered.items() if not which(sent)}

    def may_be(self) -> set[tuple[str, int]]:
        """For whom the member may take itself: answers are worked off one after the other."""
        return set(self._maybe)

    def is_lost(self, now_ms: int) -> bool:
        """Whether its membership has ended, and it has had the time to learn it."""
        return self._lost_ms is not None and now_ms > self._lost_ms + LOOK_MS

    def may_be_lost(self) -> bool:
        """Whether anything may have ended its membership."""
        gone = self._identity[1] < 0 or self.left or self.fenced or self.leaving or bool(self.doing)
        scenario = self._scenario
        return gone or scenario.works_long or scenario.timers_race or scenario.is_closed_by_others

    def is_under_way(self, api: str) -> bool:
        """Whether such a request waits for its answer."""
        return any(api_of(sent.request) == api for sent in self._unanswered.values())

    def is_well(self) -> bool:
        """Whether it knows its coordinator, and nothing is under way there."""
        gone = self.fenced or self._gives_up or self._drops or self._lost_ms is not None
        return self.finding.knows and not gone and not any(map(_of_coordinator, self._unanswered.values()))

    def heard_ms(self, now_ms: int, commits: bool) -> int:
        """Until when it has waited to be let go; if it commits, for any answer of its coordinator, or for its name."""
        waits_for = _of_coordinator if commits else _leaves
        waits = any(map(waits_for, self._unanswered.values()))
        return now_ms if waits else max(self._heard_ms if commits else 0, self.parted_ms)

    def in_round(self) -> str:
        """Which request of a round is unanswered; empty: none is."""
        return next((api_of(sent.request) for sent in self._unanswered.values() if isinstance(sent.request, ROUND)), "")


def _share_in(response: Response) -> tuple[TopicPartition, ...] | None:
    """What is assigned; None: nothing is, or what is cannot be read."""
    if not isinstance(response, SyncGroupResponse) or response.error:
        return None
    try:
        return decode_assignment(response.assignment).partitions
    except MalformedProtocolData:
        return None


def _of_coordinator(sent: SendRequest) -> bool:
    return sent.node == COORDINATOR or isinstance(sent.request, FindCoordinatorRequest)


def _leaves(sent: SendRequest) -> bool:
    return isinstance(sent.request, LeaveGroupRequest)


def _errors(response: Response) -> set[ErrorCode]:
    """All that it says, of the whole and of its parts."""
    of_parts = (getattr(response, name, {}) for name in ("errors", "offsets", "partitions", "ends"))
    parts = [part for parts in of_parts for part in parts.values()]
    parts += getattr(response, "topics", ())
    return {getattr(response, "error", ErrorCode.NONE), *(getattr(part, "error", part) for part in parts)}


def identity_of(request: Request) -> tuple[str, int]:
    """As whom, and of which generation, it was sent."""
    return getattr(request, "member_id", ""), getattr(request, "generation", -1)
