"""One commit in lockstep: the commit machine against the reference core's queue of commits.

The machine is told what the consumer is to the group; to bring that about, the adapter does whatever the group and the
application would do for it: a rebalance, an expulsion, an assignment by hand. The core may then do more than the one
event says (it forgets the coordinator, a rebalance begins with a commit of its own): what has happened besides is read
off the core, and the machine is told.

Compared are requests and the identity that they carry, how the commits of the application end, and whether one is under
way or out. How an automatic commit ends is told to nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

from groupspec.conformance.stateful.correspondence import TOPIC, error_named
from groupspec.conformance.stateful.lockstep import LockstepRun
from groupspec.conformance.stateful.tests.core_with_commit import DEADLINE_MS, EARLIER, SUBJECT, CoreWithCommit, Watched
from groupspec.impl.core import events as impl
from groupspec.impl.core.messages import (
    ErrorCode,
    FindCoordinatorRequest,
    OffsetAndMetadata,
)
from groupspec.spec.commit import COMMIT_ANSWERS, COMMIT_ENDINGS
from groupspec.spec.compiler.member import Member, MemberState, Offer
from groupspec.spec.terms import Value

_CALLED = ("commit_sync_called", "commit_async_called")
_AUTOMATIC = ("auto_commit_due", "rebalance_commit_due", "close_commit_due")


class CommitAdapter(CoreWithCommit):
    """Brings about what the machine may be told, and tells what came of it."""

    # What can happen --------------------------------------------------------------------------------------------------

    def can(self, offer: Offer) -> bool:
        """Whether a group, its coordinator and the application could bring this about now."""
        told = dict(offer.inputs)
        if not told.get("current", True):
            return False
        if offer.event in (*_CALLED, *_AUTOMATIC):
            return self._can_begin(offer.event, told)
        if offer.event in COMMIT_ANSWERS.values():
            return self.is_out
        match offer.event:
            case "earlier_commits_done":
                return self.earlier is not None
            case "application_polled":
                return self.standing == "member"
            case "coordinator_found":
                if self._closing or self._refused:
                    return self.newest("FindCoordinator") is not None
                return not self.knows_coordinator
            case "discovery_retriable" | "discovery_fatal":
                return self.newest("FindCoordinator") is not None and self.earlier is None
            case "coordinator_lost":
                return self.knows_coordinator and not self._closing and self.standing != "in_round"
            case "commit_backoff_elapsed":
                return self.core.timers.is_armed("commit_backoff")
            case "commit_deadline_expired":
                return self.core.timers.is_armed("commit_deadline")
            case "commit_standing_changed":
                return self._can_stand(str(told["standing_now"]))
            case "rebalance_given_up":
                return (
                    self.watched is not None and self.watched.purpose == "rebalance_commit_due" and self.earlier is None
                )
            case "stopped":
                return self.watched is not None and not self.config.enable_auto_commit and self.earlier is None
            case _:
                return False

    def _can_begin(self, event: str, told: dict[str, Value]) -> bool:
        if self.watched is not None or self.earlier is not None or (event in _CALLED) is self.config.enable_auto_commit:
            return False
        if told["behind_now"] and not (self.knows_coordinator and self.standing in ("member", "manual")):
            return False
        if event in _CALLED:
            return True
        if SUBJECT not in self.subscription.positions.describe():
            return False
        if event == "auto_commit_due" and told["behind_now"]:
            return False
        stable = self.describe().rebalance == "STABLE"
        if event == "rebalance_commit_due":
            return stable and self.standing == "member" and not self.describe().rejoin_needed
        return stable or self.standing == "manual"

    def _can_stand(self, wanted: str) -> bool:
        """What the consumer covers then, and whether its identity stays, are told as they come out."""
        now, automatic = self.standing, self.config.enable_auto_commit
        if self._closing:
            return False
        if "manual" in (now, wanted):
            idle = self.watched is None and self.earlier is None
            return (idle or not automatic) and (now == wanted or wanted in ("manual", "outside"))
        if wanted == "outside":
            return now == "outside" or (now == "member" and self._beats())
        if automatic:  # a rebalance would begin with a commit of its own
            return self.watched is None and self.earlier is None and not self.subscription.positions.to_commit()
        if self.watched is not None and not self.is_out and now == wanted == "member":
            return False  # on the way there it would have been judged
        return self.knows_coordinator or self.watched is None

    def _beats(self) -> bool:
        return self.knows_coordinator and self.core.timers.is_armed("heartbeat")

    # Making it happen -------------------------------------------------------------------------------------------------

    def perform(self, offer: Offer, variant: int) -> list[Offer]:
        """Bring the event about; what has happened by that, in order."""
        self.emitted.clear()
        self.carried.clear()
        self.now_ms += 1
        before = (self.knows_coordinator, self.standing, self.identity, self.earlier is not None, self.watched)
        self._act(offer.event, dict(offer.inputs), variant)
        return self._what_happened(offer, *before)

    def _what_happened(
        self,
        offer: Offer,
        knew: bool,
        stood: str,
        was: tuple[str, int],
        behind: bool,
        watched: Watched | None,
    ) -> list[Offer]:
        now = (
            ("standing_now", self.standing),
            ("covers_now", self.covers(watched)),
            ("same_identity", was == self.identity),
        )
        changed = Offer("commit_standing_changed", now)
        happened = [changed if offer.event == changed.event else offer]
        if knew and not self.knows_coordinator:  # with it went what was out
            self.unanswered = [sent for sent in self.unanswered if isinstance(sent.request, FindCoordinatorRequest)]
        if knew is not self.knows_coordinator:
            found = Offer("coordinator_found" if self.knows_coordinator else "coordinator_lost")
            if found.event != offer.event:
                happened.insert(0 if self.knows_coordinator else 1, found)
        if behind and self.earlier is None and offer.event != "earlier_commits_done":
            happened.append(Offer("earlier_commits_done"))
        if (stood, was) != (self.standing, self.identity) and offer.event != changed.event:
            happened.append(changed)
        if self.watched is None and self.earlier is None and not self.core.commits.is_idle:
            happened.append(self._rebalance_has_begun())
        return happened

    def _rebalance_has_begun(self) -> Offer:
        out = self.newest("OffsetCommit")
        self.watched = Watched(None, "rebalance_commit_due", request_id=out.request_id if out else None)
        return Offer(
            "rebalance_commit_due",
            (
                ("covers_now", self.covers(None)),
                ("behind_now", False),
                ("unprocessed_now", self.subscription.positions.has_unprocessed()),
            ),
        )

    def _act(self, event: str, told: dict[str, Value], variant: int) -> None:
        if event in (*_CALLED, *_AUTOMATIC):
            self._start(event, told)
        elif event in COMMIT_ANSWERS.values():
            names = [name for name, meant in COMMIT_ANSWERS.items() if meant == event]
            assert self.watched is not None
            assert self.watched.request_id is not None
            out = next(sent for sent in self.unanswered if sent.request_id == self.watched.request_id)
            passing = event in ("commit_retriable", "commit_coordinator_gone")
            passing |= event == "commit_topic_missing" and self.watched.purpose != "rebalance_commit_due"
            if self.watched.future_id is None and not (passing and self.watched.purpose != "auto_commit_due"):
                self.watched = None
            self._answer(out, error_named("OffsetCommit", names[variant % len(names)]))
        elif event in ("coordinator_found", "discovery_retriable", "discovery_fatal"):
            said = {"coordinator_found": ErrorCode.NONE, "discovery_retriable": ErrorCode.COORDINATOR_NOT_AVAILABLE}
            self._refused = event == "discovery_fatal"
            if self.newest("FindCoordinator") is None:
                self._ask()
            self._answer(self.newest("FindCoordinator"), said.get(event, ErrorCode.GROUP_AUTHORIZATION_FAILED))
        else:
            self._change(event, told)
        if self.watched is not None and self.watched.future_id is None and not self._is_automatic_under_way():
            self.watched = None
        if self._closing and self.watched is None:
            self._close()

    def _is_automatic_under_way(self) -> bool:
        """With an earlier commit out the queue is not empty: that one has no deadline, unlike the watched one then."""
        commits, timers = self.core.commits, self.core.timers
        return timers.is_armed("commit_deadline") if self.earlier is not None else not commits.is_idle

    def _change(self, event: str, told: dict[str, Value]) -> None:
        match event:
            case "earlier_commits_done":
                self._answer(self._earlier_request(), ErrorCode.NONE)
            case "application_polled":
                self.poll()
            case "coordinator_lost":
                self._ask()
                self._answer(self.newest("OffsetFetch"), ErrorCode.NOT_COORDINATOR)
            case "commit_backoff_elapsed" | "commit_deadline_expired":
                self._expire_if_armed(event.removesuffix("_elapsed").removesuffix("_expired"))
            case "commit_standing_changed":
                self._stand(str(told["standing_now"]), bool(told["same_identity"]), told["covers_now"] != "nothing")
            case "rebalance_given_up":
                self._leave()
                self.do(impl.Subscribe((TOPIC,)))
            case "stopped":
                self._close()

    def _start(self, event: str, told: dict[str, Value]) -> None:
        if told["behind_now"]:
            self.earlier = self._future()
            self.do(impl.Commit({EARLIER: OffsetAndMetadata(1)}, self.earlier))
        if event in _CALLED:
            nothing = told["covers_now"] == "nothing"
            self.watched = Watched(self._future(), event, nothing)
            deadline = self.now_ms + DEADLINE_MS if event == "commit_sync_called" else None
            offsets = {} if nothing else {SUBJECT: OffsetAndMetadata(self._offset)}
            assert self.watched.future_id is not None
            self.do(impl.Commit(offsets, self.watched.future_id, deadline))
            return
        self._consume(bool(told["covers_now"] == "something"), bool(told.get("unprocessed_now", False)))
        begun = told["covers_now"] == "something" or told.get("unprocessed_now") or event == "close_commit_due"
        self.watched = Watched(None, event) if begun else None
        if event == "auto_commit_due":
            self.do(impl.TimerExpired("auto_commit"))
        elif event == "rebalance_commit_due":
            self.do(impl.EnforceRebalance("a test wants it"))
        else:
            self._closing = True
            self.do(impl.Close(self._future(), self.now_ms + DEADLINE_MS))


@dataclass
class CommitLockstep(LockstepRun):
    """One run of the commit machine and the core's commits together."""

    adapter: CommitAdapter

    def offer(self, offer: Offer, variant: int = 0) -> bool:
        """Let one event happen on both sides. False: it can't be brought about now, and nothing has happened.

        Raises:
            Divergence: they differ.
        """
        if not self.adapter.can(offer):
            return False
        emitted: list[str] = []
        for happened in self.adapter.perform(offer, variant):
            self.history.append(str(happened))
            words = self.react(happened)
            is_called = self.value("commit_purpose") in ("sync", "async")
            emitted += (word for word in words if word not in COMMIT_ENDINGS or is_called)
        self.compare("what was sent and told", emitted, self.adapter.emitted)
        if self.adapter.carried:
            as_member, static = self.value("sent_as") == "member", bool(self.value("static"))
            self.compare("identity and instance id", (as_member, as_member and static), self.adapter.carried[-1])
        where = self.member.state_of(self.state, "commit")
        self.compare("out", where == "SENT", self.adapter.is_out)
        self.compare("under way", where != "SETTLED", self.adapter.watched is not None)
        return True


def start_commits(_: str, member: Member, state: MemberState) -> CommitLockstep:
    """A run against the core."""
    return CommitLockstep(member, state, CommitAdapter(member, state))
