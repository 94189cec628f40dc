"""What a request must contain, and when it may be sent: judged as it is sent, from what the member knows then.

What JoinGroup says of its member is in `claims`, how often anything may be asked in `rates`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupspec.conformance.schedules.answered import GROUP_REQUESTS, OF_THE_GROUP, ROUND, Answered, identity_of
from groupspec.conformance.schedules.rates import Rates
from groupspec.conformance.schedules.scenario import GROUP, Scenario
from groupspec.conformance.schedules.times import LOOK_MS, SETTINGS
from groupspec.impl.core.events import COORDINATOR, ResponseReceived, SendRequest
from groupspec.impl.core.messages import (
    FetchRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    Request,
    SyncGroupRequest,
    TopicPartition,
)
from groupspec.impl.core.protocol import decode_subscription
from groupspec.impl.scripted import api_of

REASONS: Final = {"close": "being closed", "unsubscribe": "unsubscribed", "": "poll"}
"""What the application does -> what the reason of LeaveGroup speaks of (KIP-800)."""

MOST_OF_A_REASON: Final = 255
"""Characters of a reason that go out: the wire has room for 32,767 (KAFKA-13998; JoinGroupRequest.maybeTruncateReason).
"""


class Requests(Answered):
    """What one member sends.

    Attributes:
        committed_ms: When it has last sent a commit.
        moved: What the application has sought since that was made, and with which of its seeks.
        released_ms: When the last callback for what goes has ended.
        ends_with_commit: Whether a close() that is under way may have anything to commit.
        closes_ms: When that has begun.
    """

    def __init__(self, scenario: Scenario, at_once: bool = True) -> None:
        super().__init__(scenario, at_once)
        self._rates = Rates()
        self.committed_ms = self.released_ms = self.closes_ms = 0
        self.ends_with_commit = True
        self.moved: dict[TopicPartition, int] = {}
        self._seeks = 0  # before the answers that are being worked off

    def answered(self, responses: Iterable[ResponseReceived], now_ms: int) -> None:
        """See Answered. What follows from these answers is made and sent then."""
        super().answered(responses, now_ms)
        self._seeks = max(self.moved.values(), default=self._seeks)

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
        has = self.claims.owned | (self.rounds.share or frozenset())  # of the latter it may not have been told yet
        self.asking.sent(sent, self._unanswered.values(), has, now_ms)
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
        # What it needed before may be on its way as the call begins; and until all is revoked it is a member.
        in_vain = self.doing == "close" and not self.ends_with_commit and now_ms > self.closes_ms + LOOK_MS
        in_vain &= not self.claims.owned
        assert not (in_vain and isinstance(request, FindCoordinatorRequest)) or self._scenario.timers_race, (
            "FindCoordinator in a close() that has nothing to commit (rules L1, D7)"
        )
        if isinstance(request, OffsetCommitRequest):
            self.committed_ms = now_ms
            for partition in [partition for partition, seek in self.moved.items() if seek <= self._seeks]:
                del self.moved[partition]  # the others may have been sought since it was made
        assert not isinstance(request, HeartbeatRequest) or self.in_round() != "JoinGroup", (
            "Heartbeat while JoinGroup is unanswered (rule H3)"
        )
        if isinstance(request, GROUP_REQUESTS):
            self._check_instance(request)
        if isinstance(request, JoinGroupRequest | SyncGroupRequest):
            self.named = request.member_id
        is_past = isinstance(request, SyncGroupRequest) and identity_of(request) != self._identity
        if arrives and not is_past:
            self._unanswered[sent.request_id] = sent
        elif not arrives:
            self.times.broken()
            if sent.node == COORDINATOR:  # to the member it is gone, as soon as it looks
                self._drops, self._learned_ms = True, now_ms

    def _check_join(self, request: JoinGroupRequest, timeout_ms: int, now_ms: int) -> None:
        scenario = self._scenario
        if self.maybe_fenced:  # it was not
            self.fenced = self.maybe_fenced = False
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
        assert len(request.reason) <= MOST_OF_A_REASON, f"JoinGroup with a reason of {len(request.reason)} characters"
        assert not self.in_round(), f"a second JoinGroup while {self.in_round()} is unanswered (rule J1)"
        for name, data in request.protocols:
            self.claims.expect(name, data, None if repeats else kept)

    def _check_generation(
        self, request: SyncGroupRequest | HeartbeatRequest | OffsetCommitRequest, now_ms: int
    ) -> None:
        api, identity = api_of(request), (request.member_id, request.generation)
        if isinstance(request, OffsetCommitRequest) and identity == ("", -1):
            assert request.group_instance_id is None, "a commit without a member names an instance (rules M1, X1)"
            assert self._scenario.commits_as_nobody, "a commit without a membership (rule C2)"
            return
        # Who leaves gives its round up, and its callback may commit as whom it was before (rule L3; Java's fails).
        leaves = isinstance(request, OffsetCommitRequest) and bool(self.doing or self.leaving or self.closes_meanwhile)
        kept = isinstance(request, OffsetCommitRequest) and identity == self._given_up_as
        assert kept or identity in self._maybe, (
            f"{api} as {identity}, when it has become {self._identity} (rules J9, M1)"
        )
        if not (isinstance(request, HeartbeatRequest) or (leaves and not self._scenario.commits_only_by_itself)):
            assert not self.in_round(), f"{api} while {self.in_round()} is unanswered (rules J1, M7)"
        if isinstance(request, OffsetCommitRequest) and self._scenario.commits_only_async:
            before = [sent for sent in self._unanswered.values() if isinstance(sent.request, OffsetCommitRequest)]
            assert not before, "a commit while an earlier one is unanswered (rule M6)"
        if isinstance(request, OffsetCommitRequest) and self._scenario.commits_only_by_itself:
            foreign = set(request.offsets) - self.claims.owned
            # Whoever closes it may come between the end of a callback and the word of that; so may its own close().
            at_once = self._scenario.timers_race or now_ms == self.released_ms
            held_up = at_once and (self._scenario.is_closed_by_others or self.doing == "close")
            assert not foreign or held_up, f"an automatic commit of {foreign}, which is not owned (rule M7)"

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
        must_be_silent = self._silent and self._is_certainly_fenced()
        assert not must_be_silent or anonymous, f"{api} after FENCED_INSTANCE_ID (rule X2)"

    def _has_unanswered_heartbeat(self) -> bool:
        return any(isinstance(sent.request, HeartbeatRequest) for sent in self._unanswered.values())
