"""What `trace why` finds: rebalances, the members involved, and the lines that prove it. Data only.

Members are named by client id, which the coordinator puts in front of the member ids that it makes up (`member_names`).
For static members that is the group.instance.id, because a 4.x coordinator logs nothing else about them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from groupspec.conformance.traces.causes import Cause
from groupspec.conformance.traces.clusters import Clash
from groupspec.conformance.traces.dialects import LogLine
from groupspec.conformance.traces.holes import Hole

Role = Literal["began", "merged", "waited_for"]
Outcome = Literal["completed", "empty", "interrupted", "unfinished"]
EXPULSIONS: Final[frozenset[Cause]] = frozenset(
    {"session_timeout", "poll_timeout", "sync_timeout", "abandoned_consumer"}
)
"""A member went without meaning to."""


@dataclass(slots=True)
class Contribution:
    """One member's part in a rebalance.

    back_after_ms  how long after it had gone the same client was back; -1: never, or it did not go
    quiet_ms       how long before that the last rebalance had ended: since then nothing proves that the member polled
    """

    role: Role
    cause: Cause
    member: str
    member_id: str
    at_ms: int
    alternatives: tuple[Cause, ...] = ()
    evidence: list[LogLine] = field(default_factory=list)
    back_after_ms: int = -1
    quiet_ms: int = 0


@dataclass(slots=True)
class Rebalance:
    """One generation's way into being.

    number          its place in the group's history as the logs have it, from 1
    generation      the one that it led to; -1 when the log ends before, or it was interrupted
    old_generation  the one that it replaced
    at_ms           when the coordinator began it
    joined_ms       when all members had joined (or were given up); -1: never
    settled_ms      when the leader's assignment arrived, or the group was found empty; -1: never, or not logged
    loaded          members that the coordinator had just loaded when it began; -1: it was not loaded just before
    follow_up       a later round of the same cooperative rebalance: cause and member are those of the first
    unbegun         the log has its end and not its beginning: `at_ms` is when all had joined
    consumer_protocol  the group is one of KIP-848: members move to the new epoch one by one, and no log says when
    """

    group: str
    old_generation: int
    at_ms: int
    cause: Cause
    member: str
    alternatives: tuple[Cause, ...]
    contributions: list[Contribution]
    lines: list[LogLine]
    number: int = 0
    follow_up: bool = False
    generation: int = -1
    joined_ms: int = -1
    settled_ms: int = -1
    members: int = -1
    loaded: int = -1
    outcome: Outcome = "unfinished"
    unbegun: bool = False
    consumer_protocol: bool = False

    @property
    def evidence(self) -> list[LogLine]:
        """The lines that prove it, each once, in the order of the files."""
        places = [*self.lines, *(place for part in self.contributions for place in part.evidence)]
        return sorted(dict.fromkeys(places), key=lambda place: (place.file, place.line))

    @property
    def duration_ms(self) -> int:
        """From its beginning to the assignment: how long an eager group stood still; -1 while that is not known.

        Where the log has no line about the assignment, it ends when all had joined.
        """
        end_ms = self.settled_ms if self.settled_ms >= 0 else self.joined_ms
        return -1 if end_ms < 0 or self.consumer_protocol or self.unbegun else end_ms - self.at_ms


@dataclass(slots=True)
class Note:
    """Something that an operator expects to see and that caused no rebalance."""

    at_ms: int
    what: str
    place: LogLine


@dataclass(slots=True)
class Explanation:
    """Everything found about one group.

    holes                what the logs leave out of its history
    clash                why the logs look like those of several clusters
    since_ms, until_ms   the period that was asked for
    before, after        how many rebalances the logs have outside of it
    before_ms, after_ms  when the last before it and the first after it began
    """

    group: str
    rebalances: list[Rebalance] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)
    clash: Clash | None = None
    since_ms: int = 0
    before: int = 0
    before_ms: int = 0
    until_ms: int = 0
    after: int = 0
    after_ms: int = 0

    @property
    def expulsions(self) -> int:
        """How often a member was expelled or polled too late; what followed a restart of the coordinator aside."""
        return sum(
            part.cause in EXPULSIONS
            for rebalance in self.rebalances
            if not rebalance.follow_up and rebalance.cause != "coordinator_restart"
            for part in rebalance.contributions
        )

    @property
    def unplanned(self) -> int:
        """Rebalances that were not begun by members that come and go, as in a deployment; a rejoin is one of them."""
        return sum(
            rebalance.cause not in {"join", "leave"} and not rebalance.follow_up for rebalance in self.rebalances
        )

    @property
    def duration_ms(self) -> int:
        """How long its rebalances took together, as far as the logs say it; -1: of none."""
        known = [rebalance.duration_ms for rebalance in self.rebalances if rebalance.duration_ms >= 0]
        return sum(known) if known else -1

    def only(self, first_ms: int, last_ms: int) -> None:
        """Leave out what was before or after that period."""
        before = [rebalance for rebalance in self.rebalances if rebalance.at_ms < first_ms]
        after = [rebalance for rebalance in self.rebalances if rebalance.at_ms > last_ms]
        self.since_ms, self.before, self.before_ms = first_ms, len(before), before[-1].at_ms if before else 0
        self.until_ms, self.after, self.after_ms = last_ms, len(after), after[0].at_ms if after else 0
        self.rebalances = self.rebalances[len(before) : len(self.rebalances) - len(after)]
        self.notes = [note for note in self.notes if first_ms <= note.at_ms <= last_ms]
        self.holes = [hole for hole in self.holes if first_ms <= hole.before_ms and hole.after_ms <= last_ms]
