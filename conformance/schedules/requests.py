"""What a request must contain, and when it may be sent: judged as it is sent, from what the member knows then.

The network hears everything that the background thread does: what it sends, and which answers it takes. So what must
hold of a request is said in terms of these and of what the application owns, and needs no look into the member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from groupspec.conformance.schedules.answers import REFUSALS
from groupspec.conformance.schedules.asking import EVERYTHING, Asking
from groupspec.conformance.schedules.finding import COORDINATOR_IS_GONE, Finding
from groupspec.conformance.schedules.rates import Rates
from groupspec.conformance.schedules.rounds import Rounds
from groupspec.conformance.schedules.scenario import ASKS_TOPICS, Scenario
from groupspec.conformance.schedules.times import Times
from groupspec.impl.core.events import COORDINATOR, ResponseReceived, SendRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchRequest,
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
from groupspec.impl.core.protocol import (
    decode_assignment,
    decode_sticky_user_data,
    decode_subscription,
    encode_subscription,
)
from groupspec.impl.scripted import api_of

GROUP: Final = "billing"
SETTINGS: Final[dict[str, int]] = {
    "session_timeout_ms": 10_000,
    "heartbeat_interval_ms": 1_000,
    "max_poll_interval_ms": 20_000,
    "request_timeout_ms": 11_000,
    "metadata_max_age_ms": 3_000,
}
"""What every scenario's consumer is told; the last one only leaders."""

IDENTITY_IS_GONE: Final = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION}
ROUND: Final = (JoinGroupRequest, SyncGroupRequest)

LOOK_MS: Final = 100
"""Within which the heartbeat design has given the core each answer: the retry backoff, for which its thread sleeps."""

GROUP_REQUESTS: Final = (JoinGroupRequest, SyncGroupRequest, HeartbeatRequest, LeaveGroupRequest, OffsetCommitRequest)
OF_THE_GROUP: Final = (JoinGroupRequest, SyncGroupRequest, HeartbeatRequest)
"""Requests that nobody waits for: what they are refused is for the next poll() to tell (rule H4)."""

FOR_THE_APPLICATION: Final = {ErrorCode.FENCED_INSTANCE_ID, *(ErrorCode[name] for name in REFUSALS)}
REASONS: Final = {"close": "being closed", "unsubscribe": "unsubscribed", "": "poll"}
"""What the application does -> what the reason of LeaveGroup speaks of (KIP-800)."""


class Requests:
    """What one member has sent, and what it has been answered.

    Args:
        scenario: What happens to the member.
        at_once: Whether the thread that takes an answer out of the network is the one that sends all requests, so that
            nothing is sent before the answer has had its effect.

    Attributes:
        owned: What the application owns.
        doing: Its call, if it is "close" or "unsubscribe".
        closes_meanwhile: Whether another thread has begun to close it.
        fenced: Whether the member knows that another process has its instance id.
        maybe_fenced: Whether it knows that only if it has taken the answer to a commit for which time was over.
        named: The name that the member has used last, and has not given back.
        rounds: Its rebalances.
        finding: What it knows of its coordinator.
        asking: What it asks brokers for.
        refused_ms: When it was last refused its coordinator for good.
        parted_ms: When the group has last answered that it leaves, or its coordinator was given up.
        disowned_ms: When it was last told that it is no member, or of another generation.
        refusals: What it was ever refused for good, or because another process has its name.
        to_tell: Which of these its application has to be told of.
        committed_ms: When it has last sent a commit.
        moved: What the application has sought since.
        released_ms: When the last callback for what goes has ended.
        leaving: Whether an unsubscribe is under way, maybe longer than its call was.
        left: Whether it has sent LeaveGroup, and no JoinGroup since.
    """

    def __init__(self, scenario: Scenario, at_once: bool = True) -> None:
        self._scenario = scenario
        self._at_once = at_once
        self._learned_ms = self._heard_ms = 0
        self._unanswered: dict[int, SendRequest] = {}
        self._identity = ("", -1)
        self._maybe = {self._identity}  # while answers are being worked off, one after the other
        self._gives_up = False  # on the coordinator, as it has been told to; not yet carried out
        self._drops = False  # maybe what else has come at this moment, before it is looked at
        self._before_drop: tuple[str, int] | None = None  # who it was as the first of that was taken
        self._given_up_as: tuple[str, int] | None = None  # who it was, if it left in the round that was answered last
        self._silent = False  # fenced before the answers that are being worked off
        self._lost_ms: int | None = None  # when its membership has ended against its will
        self._rates = Rates()
        self._last_heartbeat: tuple[int, int] = (-1, 0)  # generation, time
        self._heartbeat_at_once = False  # after one that failed, or at another coordinator
        self._orders: dict[frozenset[TopicPartition], tuple[TopicPartition, ...]] = {}
        self._counts_of_topics: dict[str, int] = {}
        self._written: dict[tuple[object, ...], bytes] = {}
        self._given = ""  # the id that it was told to join with
        self._kept_name: str | None = None  # of who has just lost its generation, "" if the id is lost too
        self._assigned_in = {-1}  # generations of the assignments of this membership
        self.times = Times(SETTINGS)
        self.times.repeats = not (scenario.auto_commit or scenario.commits_async)
        self.owned: frozenset[TopicPartition] | set[TopicPartition] = frozenset()
        self.named = ""
        self.rounds = Rounds()
        excused = scenario.timers_race or bool(scenario.breaks)
        self.finding = Finding(SETTINGS["session_timeout_ms"], SETTINGS["max_poll_interval_ms"], excused)
        self.asking = Asking(scenario, at_once)
        self.refused_ms = self.parted_ms = 0
        self.disowned_ms = -1
        self._shares: list[tuple[tuple[TopicPartition, ...], int]] = []  # that it was assigned, with their generations
        self._has_had = False  # for certain
        self.doing = ""
        self.closes_meanwhile = False
        self.refusals: set[ErrorCode] = set()
        self.to_tell: set[ErrorCode] = set()
        self.fenced = self.maybe_fenced = False
        self.leaving = False
        self.left = False
        self.committed_ms = self.released_ms = 0
        self.moved: set[TopicPartition] = set()

    # What happens -----------------------------------------------------------------------------------------------------

    def answered(self, responses: Iterable[ResponseReceived], now_ms: int) -> None:
        """The member takes these, one after the other, before it waits again."""
        self.asking.turned()
        late = now_ms > self._learned_ms + LOOK_MS and not self._scenario.timers_race
        if self._at_once or late:
            self._maybe = {self._identity}
            self._silent, self._drops, self._before_drop = self.fenced, False, None
            self.finding.hears()
        for received in responses:
            errors = _errors(received.response)
            self.finding.answered(received.response, errors, now_ms)
            sent = self._unanswered.pop(received.request_id, None)
            if sent is not None:
                self._heard_ms = now_ms if _of_coordinator(sent) else self._heard_ms
                self.asking.answered(sent, received.response, errors, now_ms)
                self._learn(sent.request, received.response, errors, now_ms)
                self._maybe.add(self._identity)
                self._learned_ms = now_ms

    def _learn(self, request: Request, response: Response, errors: set[ErrorCode], now_ms: int) -> None:
        self.times.answered(request, response, errors, now_ms)
        refused = errors & FOR_THE_APPLICATION
        self.refusals |= refused
        self.disowned_ms = now_ms if errors & IDENTITY_IS_GONE else self.disowned_ms
        heard = self._counts(request) and not (self.doing or self.leaving or self._gives_up)
        is_late = isinstance(request, HeartbeatRequest) and self._may_join()
        if heard and isinstance(request, OF_THE_GROUP) and not is_late:
            self.to_tell |= refused
        if self._counts(request):
            fences = ErrorCode.FENCED_INSTANCE_ID in errors and not self._gives_up
            self.maybe_fenced |= fences and self._may_be_given_up(request)
            self.fenced |= fences
            is_gone = bool(errors & COORDINATOR_IS_GONE) and isinstance(request, GROUP_REQUESTS)
            self._gives_up |= is_gone and not is_late
            self._drops |= is_gone and is_late
            if is_gone and isinstance(request, OF_THE_GROUP) and not (is_late or self._may_have_left()):
                self.finding.gone()
        if isinstance(request, OffsetFetchRequest | LeaveGroupRequest) and errors & COORDINATOR_IS_GONE:
            self.rounds.may_come(now_ms)
            self._drops = True
            self._before_drop = self._identity
        if isinstance(request, FindCoordinatorRequest):
            self._heartbeat_at_once, self._gives_up, self._drops = True, False, False
            self.refused_ms = now_ms if refused else self.refused_ms
        if isinstance(request, LeaveGroupRequest):
            self.parted_ms = now_ms
        if isinstance(request, HeartbeatRequest):
            self._heartbeat_at_once |= bool(errors - {ErrorCode.NONE})
        if isinstance(response, SyncGroupResponse) and not response.error:
            share = decode_assignment(response.assignment).partitions
            self._shares.append((share, self._identity[1]))
            self.rounds.ends(share, self._scenario.cooperative, now_ms)
            if self.leaving or self._gives_up or self._drops:  # the round may have been given up before
                self.rounds.may_come(now_ms)
            else:
                self._has_had = True
            before = self._assigned_in if self._drops else {max(self._assigned_in)}  # this one may be dropped, too
            self._assigned_in = {*before, self._identity[1]}
        if ErrorCode.REBALANCE_IN_PROGRESS in errors:
            self._announced(request, now_ms)
        if isinstance(response, MetadataResponse):
            self._compare(request, response, now_ms)
        if isinstance(response, JoinGroupResponse) and response.error is ErrorCode.MEMBER_ID_REQUIRED:
            self._given = response.member_id
        given_up = self._gives_up or self._drops or self._may_be_given_up(request)
        if isinstance(response, JoinGroupResponse) and not response.error:
            self._given_up_as = self._identity if self.doing or self.leaving else None
            self._identity = (response.member_id, response.generation)
        elif errors & IDENTITY_IS_GONE and self._counts(request) and not given_up:
            name, is_unknown = self._identity[0], ErrorCode.UNKNOWN_MEMBER_ID in errors
            self.membership_ended()
            self._kept_name = ("" if is_unknown else name) if name else None
            self._lost_ms = now_ms

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

    def _announced(self, request: Request, now_ms: int) -> None:
        """The group rebalances; whoever is in a round knows, also a leader that waits for metadata."""
        in_round, given_up = self.rounds.share is None or self.in_round(), self._gives_up or self._drops
        if isinstance(request, HeartbeatRequest) and self._counts(request) and not (in_round or given_up):
            self.rounds.must_come()
        elif isinstance(request, OffsetCommitRequest):
            self.rounds.may_come(now_ms)

    def _may_be_given_up(self, request: Request) -> bool:
        """A commit whose time is over as its answer comes; nobody can tell from outside which was first."""
        ends = self.doing == "close" or self.closes_meanwhile or self._scenario.timers_race
        return ends and isinstance(request, OffsetCommitRequest)

    def _may_have_left(self) -> bool:
        """Who unsubscribes gives its round up; a static member says nothing when its poll interval is over."""
        return self.left or self.leaving or (self._scenario.static and self._scenario.works_long)

    def may_be(self) -> set[tuple[str, int]]:
        """For whom the member may take itself: answers are worked off one after the other."""
        return set(self._maybe)

    def _counts(self, request: Request) -> bool:
        """Whether its answer says anything of this membership: not if it was sent before the JoinGroup that is out."""
        present = _identity_of(request) == self._identity and self.in_round() != "JoinGroup"
        return present or isinstance(request, JoinGroupRequest)

    def turned(self, now_ms: int) -> None:
        """The background thread looks for answers, once in a turn."""
        self.asking.turns()
        self._rates.turned(now_ms)
        if self._scenario.timers_race or self.fenced:
            return
        if self.leaving and self._scenario.static:  # in silence, as soon as its callback has run
            self.times.excused()
        self.times.looks(now_ms)
        if not self._has_unanswered_heartbeat():
            self.times.turned(now_ms)

    def sent(self, sent: SendRequest, now_ms: int, arrives: bool = True) -> None:
        """A request is on its way, maybe not for long. Raises AssertionError for what no rule allows."""
        request = sent.request
        self._rates.asked(api_of(request), now_ms)
        self.finding.sent(sent, self._unanswered.values())
        self.asking.sent(sent, self._unanswered.values(), set(self.owned), now_ms)
        if not self._scenario.timers_race:
            self.times.sent(request, now_ms, leaves=self.leaving or bool(self.doing))
            outside = isinstance(request, JoinGroupRequest | FetchRequest) and not self.times.is_in_poll(now_ms)
            assert self._at_once or not outside, f"{api_of(request)} outside of poll() (rule J7)"
        assert not (self._scenario.manual and isinstance(request, (*OF_THE_GROUP, LeaveGroupRequest))), (
            f"{api_of(request)} by who has chosen its partitions itself (rule D8)"
        )
        match request:
            case JoinGroupRequest():
                self._check_join(request, sent.timeout_ms, now_ms)
            case SyncGroupRequest() | HeartbeatRequest() | OffsetCommitRequest():
                self._check_generation(request, now_ms)
            case LeaveGroupRequest():
                self._check_leave(request, now_ms)
        if isinstance(request, OffsetCommitRequest):
            self.committed_ms = now_ms
            self.moved.clear()
        if isinstance(request, HeartbeatRequest):
            self._check_heartbeat(request, now_ms)
        if isinstance(request, GROUP_REQUESTS):
            self._check_instance(request)
        if isinstance(request, JoinGroupRequest | SyncGroupRequest):
            self.named = request.member_id
        is_past = isinstance(request, SyncGroupRequest) and _identity_of(request) != self._identity
        if arrives and not is_past:
            self._unanswered[sent.request_id] = sent
        elif not arrives:
            self.times.broken()
            if sent.node == COORDINATOR:  # to the member it is gone, as soon as it looks
                self._drops, self._learned_ms = True, now_ms

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
        self._identity, self._before_drop = self._before_drop or self._identity, None
        self.parted_ms = now_ms
        self._heartbeat_at_once = True
        self.times.excused()
        self._forget(lambda sent: sent.node == COORDINATOR)

    def _forget(self, which: Callable[[SendRequest], bool]) -> None:
        self._unanswered = {number: sent for number, sent in self._unanswered.items() if not which(sent)}

    # What must hold ---------------------------------------------------------------------------------------------------

    def _check_join(self, request: JoinGroupRequest, timeout_ms: int, now_ms: int) -> None:
        scenario = self._scenario
        if scenario.static and (scenario.works_long or scenario.timers_race) and not request.member_id:
            # Its poll interval was over, of which a static member says nothing, and so is its round.
            self._forget(lambda sent: isinstance(sent.request, ROUND))
        if self.leaving and not request.member_id:
            self.membership_ended()
            self.leaving = self._scenario.timers_race  # more than one may wait to be taken
        forgets = not request.member_id and all(name for name, _ in (*self._maybe, self._identity)) and not self.left
        excused = scenario.static or scenario.works_long or scenario.timers_race
        assert not forgets or excused, f"JoinGroup without {self._identity}, which nothing has ended (rule J4)"
        settled = self._at_once or self.is_lost(now_ms)
        named = {self._kept_name} if settled else {self._kept_name, *(name for name, _ in self._maybe)}
        wrong = self._kept_name is not None and request.member_id not in named
        assert not wrong or excused, f"JoinGroup as {request.member_id!r} instead of {self._kept_name!r} (rule J4)"
        self._kept_name = None
        subscription = decode_subscription(request.protocols[0][1])
        rejoins = request.member_id == self._identity[0] and not self._scenario.timers_race
        assert self.rounds.is_called_for() or not rejoins, "a JoinGroup that nothing has called for (rule J2)"
        if now_ms > self._learned_ms + LOOK_MS:  # so it takes the coordinator for one
            self._gives_up = self._drops = False
        repeats, kept = self.rounds.share is None, self.rounds.kept
        self.rounds.begins(subscription.topics, subscription.owned, now_ms)
        self._forget(lambda sent: isinstance(sent.request, HeartbeatRequest))  # nobody waits for its answer any more
        self.left, self._lost_ms = False, None
        self.times.excused()
        settings, names = SETTINGS, [name for name, _ in request.protocols]
        assert names == list(self._scenario.assignors), f"protocols {names} (rule J6)"
        assert request.session_timeout_ms == settings["session_timeout_ms"], f"{request} (JoinGroup's session timeout)"
        assert request.rebalance_timeout_ms == settings["max_poll_interval_ms"], f"{request} (its rebalance timeout)"
        assert timeout_ms > request.rebalance_timeout_ms, f"JoinGroup waits {timeout_ms} ms for its answer (rule J5)"
        assert not self.in_round(), f"a second JoinGroup while {self.in_round()} is unanswered (rule J1)"
        for name, data in request.protocols:
            subscription = decode_subscription(data)
            assert data == encode_subscription(subscription), "JoinGroup's subscription is not canonical (rule J6)"
            drops = (
                scenario.pattern or "other topics" in scenario.all_calls
            )  # what does not fit any more, and it has never had that
            if name == "sticky" and self._has_had and not drops:
                had = decode_sticky_user_data(subscription.user_data)
                assert had in self._shares, f"sticky, it had {self._shares[-1]}, and says {had} (rule K1)"
            owned = set(subscription.owned)
            foreign = {partition.topic for partition in owned} - set(subscription.topics)
            # What it gives up it gives up before a round. Whoever unsubscribes in one has the next one for that; and so
            # has who changes its mind once more while that goes on, or whose pattern matches less: what is wanted is
            # looked at once (as Java's ConsumerCoordinator.onJoinPrepare does).
            assert foreign <= kept or repeats, f"JoinGroup claims partitions of {foreign}, not subscribed to (rule K1)"
            order = self._orders.setdefault(frozenset(owned), subscription.owned)
            assert subscription.owned == order, f"{subscription.owned} were written as {order} before (rule J6)"
            generation = subscription.generation
            what = (name, subscription.topics, subscription.owned, generation)
            is_same = data == self._written.setdefault(what, data) or name == "sticky"  # which tells of its last round
            assert is_same, f"JoinGroup writes the same subscription in two ways (rule J6): {subscription}"
            assert not owned or generation in self._assigned_in, f"claims of generation {generation} (rule K1)"
            expected = self.owned if self._scenario.cooperative else set()
            assert owned == expected or self._scenario.is_closed_by_others, (
                f"JoinGroup says that {sorted(map(str, owned))} are owned, and the application has "
                f"{sorted(map(str, expected))} (rule K1)"
            )

    def _check_generation(
        self, request: SyncGroupRequest | HeartbeatRequest | OffsetCommitRequest, now_ms: int
    ) -> None:
        api, identity = api_of(request), (request.member_id, request.generation)
        if isinstance(request, OffsetCommitRequest) and identity == ("", -1):
            assert request.group_instance_id is None, "a commit without a member names an instance (rules M1, X1)"
            assert self._scenario.commits_as_nobody, "a commit without a membership (rule C2)"
            return
        # Who leaves gives its round up, and its callback may commit as whom it was before (rule L3).
        kept = isinstance(request, OffsetCommitRequest) and identity == self._given_up_as
        assert kept or identity in self._maybe, (
            f"{api} as {identity}, when it has become {self._identity} (rules J9, M1)"
        )
        if not isinstance(request, HeartbeatRequest):
            assert not self.in_round(), f"{api} while {self.in_round()} is unanswered (rules J1, M7)"
        if isinstance(request, OffsetCommitRequest) and self._scenario.commits_only_async:
            before = [sent for sent in self._unanswered.values() if isinstance(sent.request, OffsetCommitRequest)]
            assert not before, "a commit while an earlier one is unanswered (rule M6)"
        if isinstance(request, OffsetCommitRequest) and self._scenario.commits_only_by_itself:
            foreign = set(request.offsets) - self.owned
            # Whoever closes it may come between the end of a callback and the word of that.
            at_once = self._scenario.timers_race or now_ms == self.released_ms
            held_up = at_once and self._scenario.is_closed_by_others
            assert not foreign or held_up, f"an automatic commit of {foreign}, which is not owned (rule M7)"

    def _check_heartbeat(self, request: HeartbeatRequest, now_ms: int) -> None:
        assert self.in_round() != "JoinGroup", "Heartbeat while JoinGroup is unanswered (rule H3)"
        generation, before_ms = self._last_heartbeat
        early_ms = SETTINGS["heartbeat_interval_ms"] - (now_ms - before_ms)
        again = generation == request.generation and not self._heartbeat_at_once
        assert not again or early_ms <= 0 or self._scenario.timers_race, f"Heartbeat {early_ms} ms early (rule H2)"
        self._heartbeat_at_once = False
        self._last_heartbeat = (request.generation, now_ms)

    def _check_leave(self, request: LeaveGroupRequest, now_ms: int) -> None:
        assert not self._scenario.static, "a static member leaves (rules L1, P1)"
        self.left, self._kept_name = True, None
        self.rounds.membership_ended()
        members = {self.named, self._given, *(name for name, _ in self._maybe)} - {""}
        # The answer to the last commit may have taken the identity away, and close() goes on.
        last_commit = self.doing == "close" or self._scenario.is_closed_by_others
        assert request.member_id in members or last_commit, (
            f"LeaveGroup as {request.member_id!r}, who is no member (rule L1)"
        )
        if request.member_id == self.named:
            self.named = ""
        self._forget(lambda sent: isinstance(sent.request, ROUND))
        scenario = self._scenario
        if REASONS[""] in request.reason and not (scenario.timers_race or scenario.breaks or self.doing):
            self.times.gives_up(now_ms, is_calm=not scenario.has_faults)
            self._lost_ms = now_ms
        possible = {self.doing}
        if self._scenario.timers_race or self._scenario.works_long:
            possible |= {""}  # the poll interval was over as the call began
        if (self.leaving or not self.doing) and "unsubscribe" in self._scenario.calls:
            possible |= {"unsubscribe"}  # the call has given up before the member did
        expected = [text for what, text in REASONS.items() if what in possible]
        assert any(text in request.reason for text in expected) or self._scenario.is_closed_by_others, (
            f"LeaveGroup's reason in {self.doing or 'no'} call is {request.reason!r}, without {expected}"
        )

    def _check_instance(self, request: Request) -> None:
        api, instance = api_of(request), getattr(request, "group_instance_id", None)
        anonymous = isinstance(request, OffsetCommitRequest) and not request.member_id
        expected = self._scenario.instance_id if not anonymous else None
        assert instance == expected, f"{api} by instance {instance!r}, not {expected!r} (rule X1)"
        assert getattr(request, "group_id", GROUP) == GROUP, f"{api} in group {request}"
        must_be_silent = self._silent and self.fenced and not self.maybe_fenced
        assert not must_be_silent or anonymous, f"{api} after FENCED_INSTANCE_ID (rule X2)"

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

    def _has_unanswered_heartbeat(self) -> bool:
        return any(isinstance(sent.request, HeartbeatRequest) for sent in self._unanswered.values())

    def in_round(self) -> str:
        """Which request of a round is unanswered; empty: none is."""
        return next((api_of(sent.request) for sent in self._unanswered.values() if isinstance(sent.request, ROUND)), "")


def _of_coordinator(sent: SendRequest) -> bool:
    return sent.node == COORDINATOR or isinstance(sent.request, FindCoordinatorRequest)


def _leaves(sent: SendRequest) -> bool:
    return isinstance(sent.request, LeaveGroupRequest)


def _errors(response: Response) -> set[ErrorCode]:
    """All that it says, of the whole and of its parts."""
    of_parts = (getattr(response, name, {}) for name in ("errors", "offsets", "partitions"))
    parts = [part for parts in of_parts for part in parts.values()]
    parts += getattr(response, "topics", ())
    return {getattr(response, "error", ErrorCode.NONE), *(getattr(part, "error", part) for part in parts)}


def _identity_of(request: Request) -> tuple[str, int]:
    return getattr(request, "member_id", ""), getattr(request, "generation", -1)
