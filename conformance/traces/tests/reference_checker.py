"""The trace rules in plain Python, one event at a time: the oracle for the compiled checker.

`columnar.py` does the same over columns, some hundred times faster. The two are written apart and share only constants,
the rules and the projected table; `test_columnar.py` compares them on every sample and on thousands of edited traces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from groupspec.conformance.bounds import IN_FLIGHT_US, heartbeat_bound_ms
from groupspec.conformance.traces.group_checks import EVENT, Found, Term
from groupspec.conformance.traces.projection import Projection
from groupspec.conformance.traces.registers import (
    APIS,
    GRACE_US,
    NO,
    NO_GENERATION,
    NOT_BEFORE_THE_NEXT_US,
    REBALANCES_OF_A_STORM,
    STORM_US,
    UNKNOWN,
    UNKNOWN_GENERATION,
    YES,
)
from groupspec.conformance.traces.schema import ERROR_CODES, EVENT_CODES, EVENTS, AnswerDetail, Settings, TraceLine
from groupspec.conformance.traces.trace_rules import CODES, Violation, detail

_EXPELLED: Final = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID")
_NEVER: Final = (2**62, -1)
_NO_ANSWER: Final = ("DISCONNECTED", "TIMED_OUT")  # the transport gave up; the answer may still come, late
_BY_GENERATION: Final = ("heartbeat_answered", "commit_answered")
_NOT_ACTIONS: Final = (
    "T-TIME-BACKWARDS", "T-SEQUENCE-GAP", "T-STANDSTILL", "T-HEARTBEAT-GAP", "T-HEARTBEAT-RARE", "T-POLL-GAP",
)  # fmt: skip


class Claim(msgspec.Struct, frozen=True, order=True):
    """A member's word, in an assigned callback, that a partition is its own in this generation."""

    generation: int
    partition: str
    member: str
    seq: int
    state: str
    event: str
    at_us: int
    owner: tuple[str, str] = ("", "")
    """The member, and its process; of a static one without that, since one process takes another's place (rule G11)."""


class ReferenceMember:
    """What one member's events tell, one by one."""

    def __init__(self, projection: Projection) -> None:
        self.projection = projection
        self.violations: list[Violation] = []
        self.claims: list[Claim] = []
        self.terms: list[Term] = []
        self.term: Term | None = None
        self.last: TraceLine | None = None
        self.last_seq = -1
        self.last_at = 0
        self.now = 0
        self.mixed = False
        self.process = 0
        self.state = -1
        self.mode = 0
        self.source = "log"
        self._restart(None)

    def _restart(self, settings: Settings | None) -> None:
        """A new incarnation: a process of this client id that has just started."""
        self.settings = settings
        self.generation = self.generation_before = self.joined = NO_GENERATION
        self.active = self.join_out = self.sync_out = self.left = NO
        self.life_at = self.poll_at = self.quiet_at = self.now
        self.life_hole = self.poll_hole = self.quiet_hole = 0
        self.throttled_to = 0
        self.member_id = self.gone_id = ""
        self.lost = NO
        self.lost_at = self.join_at = self.commit_at = 0
        self.announced = self.asked_to_leave = NO
        self.joins = 0
        self.poll_seen = NO
        self.coordinator = YES
        self.owned: set[str] = set()
        self.owned_known = True
        self.releasing = self.assigning = False
        self.asked = dict.fromkeys(APIS, 0)
        self.answered = dict.fromkeys(APIS, 0)

    # One event --------------------------------------------------------------------------------------------------------

    def handle(self, line: TraceLine) -> None:
        """Judges one event and remembers what it told."""
        self.line = line
        self.broken: list[str] = []
        self.state_before = self._state_name()
        if self.mixed:
            return
        if line.seq <= self.last_seq:
            self.mixed = line != self.last
            self.term = None if self.mixed else self.term
            self._report("T-MIXED-PROCESSES" if self.mixed else "T-SEQUENCE-DUPLICATE", 0, line.seq)
            return
        self.last = line
        if line.seq != self.last_seq + 1:
            self._report("T-SEQUENCE-GAP", self.last_seq + 1, line.seq)
            self._forget(line.seq - self.last_seq - 1)
        self.last_seq = line.seq
        if line.event == "config":
            self.end_term()
            self.last_at = line.at_us  # another process, another clock
        if line.at_us < self.last_at:
            self._report("T-TIME-BACKWARDS", self.last_at, line.at_us)
            self._set_clocks_back(self.last_at - line.at_us)
        passed = line.at_us - self.last_at
        self.last_at = self.now = line.at_us
        # An answer to a request of another generation is late, one of none is not the group's: the table hears of
        # neither.
        other = line.generation == NO_GENERATION or line.generation != self.generation
        said = _says_late(line.detail)
        self.late = (line.event in _BY_GENERATION and other) if said is None else said
        self.is_said_late = said is True
        if line.event != "config":
            self._check_silence(passed)
        self._be_throttled()
        getattr(self, f"_on_{line.event}", self._on_other)()
        self._check_gone_id()
        self._step_table()

    def _report(self, rule: str, a: int = 0, b: int = 0, partition: str = "") -> None:
        self.broken.append(rule)
        line = self.line
        text = detail(CODES[rule], a, b, partition)
        place = (line.run, line.group, line.member, line.seq)
        self.violations.append(Violation(*place, rule, self.state_before, line.event, line.at_us, text, line.process))

    def _state_name(self) -> str:
        return self.projection.names[self.state] if self.state >= 0 else ""

    def _forget(self, missing: int) -> None:
        """After a gap nothing is known but the settings."""
        self.generation = self.generation_before = self.joined = UNKNOWN_GENERATION
        self.active = self.left = self.lost = NO
        self.member_id = self.gone_id = ""
        self.joins += missing
        self.asked_to_leave = self.announced = UNKNOWN
        self.join_out = self.sync_out = UNKNOWN
        self.poll_seen = NO
        self.coordinator = YES
        self.owned.clear()
        self.owned_known = self.releasing = self.assigning = False
        for api in APIS:
            self.asked[api] += missing
        if self.state >= 0:
            self.state = int(self.projection.unknown[self.mode])

    # Silence ----------------------------------------------------------------------------------------------------------

    def _set_clocks_back(self, step_us: int) -> None:
        """The clock was set back: what had begun began so much earlier."""
        for name in ("life_at", "poll_at", "quiet_at", "throttled_to", "lost_at", "join_at", "commit_at"):
            setattr(self, name, getattr(self, name) - step_us)
        self.term = None

    def _check_silence(self, passed_us: int) -> None:
        """A silence counts without the longest time in which nothing happened, if that alone is too long."""
        settings = self.settings
        if settings is None or not self.active:
            return
        # Who is over its quota may send nothing: no silence has begun before that is over.
        free_us = self.now - self.throttled_to
        self.life_hole, self.quiet_hole = (
            max(hole, min(passed_us, free_us)) for hole in (self.life_hole, self.quiet_hole)
        )
        self.poll_hole = max(self.poll_hole, passed_us)
        poll_us, session_us = settings.max_poll_interval_ms * 1000, settings.session_timeout_ms * 1000
        interval_ms = settings.heartbeat_interval_ms
        bound_us = heartbeat_bound_ms(interval_ms) * 1000 if interval_ms else 0
        poll_over = self.poll_seen and poll_us and self.now - self.poll_at > poll_us
        due = self.coordinator == YES and not poll_over
        if session_us and passed_us > session_us:
            self._report("T-STANDSTILL", 0, passed_us // 1000)
            self.term = None  # its clock may have been set: not to be compared
        silent_us = min(self.now - self.life_at, free_us)
        if session_us and due and _beyond(silent_us, self.life_hole, session_us, session_us):
            self._report("T-HEARTBEAT-GAP", session_us, silent_us)
            self.life_at = self.quiet_at = NOT_BEFORE_THE_NEXT_US
        quiet_us = min(self.now - self.quiet_at, free_us)
        none_out = self.answered["heartbeat"] >= self.asked["heartbeat"]
        if (
            bound_us
            and due
            and none_out
            and _beyond(quiet_us, self.quiet_hole, bound_us, min(bound_us, session_us or bound_us))
        ):
            self._report("T-HEARTBEAT-RARE", bound_us, quiet_us)
            self.quiet_at = NOT_BEFORE_THE_NEXT_US
        judged = self.line.event == "heartbeat_sent" or (self.line.event == "poll" and self._poll_expiry_would_show())
        standstill_us = session_us or NOT_BEFORE_THE_NEXT_US
        unpolled_us = self.now - self.poll_at
        too_long = poll_over and _beyond(unpolled_us, self.poll_hole, poll_us + GRACE_US, standstill_us)
        if judged and self.coordinator and too_long and free_us > GRACE_US:
            self._report("T-POLL-GAP", poll_us // 1000, unpolled_us // 1000)
            self.poll_seen = NO

    def _be_throttled(self) -> None:
        if self.line.throttle_time_ms:
            self.throttled_to = max(self.throttled_to, self.now + self.line.throttle_time_ms * 1000)
            self.life_hole = self.quiet_hole = 0

    def _poll_expiry_would_show(self) -> bool:
        """On the wire a static member's expiry is only the end of its heartbeats."""
        return not (self.source == "wire" and self.settings is not None and self.settings.static)

    # What each event tells --------------------------------------------------------------------------------------------

    def _on_other(self) -> None:
        pass

    def _on_config(self) -> None:
        assert self.line.detail is not msgspec.UNSET, "the reader lets no config event without settings pass"
        settings = msgspec.json.decode(self.line.detail, type=Settings)
        self.source = self.line.source
        self.process += 1
        self._restart(settings)
        self.mode = self.projection.mode(self.source, settings.rebalance == "eager")
        self.state = int(self.projection.start[self.mode]) if settings.listener else -1

    def _on_poll(self) -> None:
        self.poll_at, self.poll_seen, self.poll_hole = self.now, YES, 0

    def _on_subscribed(self) -> None:
        self.asked_to_leave = NO

    def _on_join_sent(self) -> None:
        if YES in (self.join_out, self.sync_out):
            self._report("T-TWO-JOINS")
        self.join_out, self.sync_out, self.active = YES, NO, NO
        self.asked["join"] += 1
        self.joins += 1
        self.join_at = self.now

    def _on_join_answered(self) -> None:
        self._answered("join")
        if self.late:
            return
        waited, self.join_out = self.join_out, NO
        if waited == NO:
            return
        if self._succeeded():
            self._join(waited)
        elif self.line.error == "MEMBER_ID_REQUIRED":
            self.member_id, self.gone_id = self.line.member_id, ""
        elif self.line.error in _EXPELLED:
            self._be_expelled()

    def _join(self, waited: int) -> None:
        generation = self.line.generation
        static = self.settings is not None and self.settings.static
        if generation < self.generation:
            self._report("T-GENERATION-BACKWARDS", self.generation, generation)
        elif self.generation >= 0 and waited == YES and not static and generation > self.generation + self.joins:
            self._report("T-GENERATION-JUMP", self.generation, generation)
        # what a coordinator has forgotten may come back
        self.joins = self.joins + self.generation - generation if generation < self.generation else 0
        self.generation_before = self.generation
        self.generation = self.joined = generation
        self.active, self.left, self.lost, self.announced = YES, NO, NO, NO
        self.life_at = self.poll_at = self.quiet_at = self.now
        self.life_hole = self.poll_hole = self.quiet_hole = 0
        self.member_id, self.gone_id = self.line.member_id, ""
        self._begin_term(waited)

    def _begin_term(self, waited: int) -> None:
        self.end_term()
        settings = self.settings
        self.term = Term(
            member=0,
            generation=self.generation,
            joined_at=self.now,
            seq=self.line.seq,
            waited=self.now - self.join_at if waited == YES else 0,
            together=int(
                waited == YES
                and self.answered["join"] == self.asked["join"]
                and self.generation != self.generation_before
            ),
            synced=0,
            last_at=-1,
            last_seq=-1,
            last_event=0,
            static=int(settings is not None and settings.static),
            session_us=settings.session_timeout_ms * 1000 if settings is not None else 0,
            poll_us=settings.max_poll_interval_ms * 1000 if settings is not None else 0,
            process=self.process,
        )

    def end_term(self) -> None:
        """The generation that the member was in is over, for it."""
        if self.term is not None:
            self.terms.append(self.term)
        self.term = None

    def _note_accepted(self, api: str, sent_at: int) -> None:
        """The coordinator has accepted the last request of this kind: none is left without an answer."""
        mine = self.line.generation == self.generation >= 0
        if self._succeeded() and mine and self.answered[api] == self.asked[api] and self.term is not None:
            event = EVENT_CODES[self.line.event]
            synced = int(self.term.synced or api == "sync")
            self.term = self.term._replace(synced=synced, last_at=sent_at, last_seq=self.line.seq, last_event=event)

    def _on_sync_sent(self) -> None:
        generation = self.line.generation
        if self.joined >= 0 and generation != self.joined:
            self._report("T-SYNC-GENERATION", self.joined, generation)
        elif self._is_foreign():
            self._report("T-MEMBER-ID")
        self.sync_out = YES
        self.generation_before = self.generation
        self.asked["sync"] += 1

    def _on_sync_answered(self) -> None:
        self._answered("sync")
        self.sync_out = NO
        self._maybe_expelled()
        if self.term is not None:
            self._note_accepted("sync", max(self.term.last_at, self.term.joined_at))

    def _on_heartbeat_sent(self) -> None:
        generation = self.line.generation
        shown = self.source == "reference" or self.lost
        told = self.generation == NO_GENERATION and shown and self._loss_has_arrived()
        if self.left or told:
            self._report("T-HEARTBEAT-NO-MEMBER", 0, generation)
        elif self.join_out == YES:
            self._report("T-HEARTBEAT-JOINING", 0, generation)
        elif 0 <= generation < self.generation:
            self._report("T-GENERATION-BACKWARDS", self.generation, generation)
        elif self._is_foreign():
            self._report("T-MEMBER-ID")
        self.life_at = self.quiet_at = self.now
        self.life_hole = self.quiet_hole = 0
        self.asked["heartbeat"] += 1

    def _on_heartbeat_answered(self) -> None:
        self._answered("heartbeat")
        self.quiet_at, self.quiet_hole = self.now, 0
        self._maybe_expelled()

    def _on_commit_sent(self) -> None:
        generation = self.line.generation
        under_way = self.source == "wire" and generation == self.generation_before
        if self.lost:
            nameless = self.source == "wire" and not self.line.member_id
            if self._loss_has_arrived() or generation == NO_GENERATION or nameless:
                self._report("T-COMMIT-NO-MEMBER", 0, generation)
        elif self.generation != UNKNOWN_GENERATION and generation != self.generation and not under_way:
            self._report("T-COMMIT-GENERATION", self.generation, generation)
        elif generation >= 0 and self._is_foreign() and not under_way:
            self._report("T-MEMBER-ID")
        self.commit_at = self.now
        self.asked["commit"] += 1

    def _on_commit_answered(self) -> None:
        self._answered("commit")
        in_round = YES in (self.join_out, self.sync_out)
        # Java's commit handler spares who has another generation by now; the reference, everybody in a round
        spared = in_round and (self.source == "reference" or self.line.generation != self.generation)
        if not spared or self.line.error not in _EXPELLED:
            self._maybe_expelled(keeps_id=in_round)
        self._note_accepted("commit", self.commit_at)

    def _on_leave_sent(self) -> None:
        unasked = self.lost == YES or (self.source == "wire" and self.asked_to_leave == NO)
        if self.settings is not None and self.settings.static and unasked:
            self._report("T-STATIC-LEAVE")
        if self._is_foreign():
            self._report("T-MEMBER-ID")
        self.asked["leave"] += 1
        if self.generation >= 0 and self.asked_to_leave == NO:
            self.lost, self.lost_at = YES, self.now
        self._lose_identity(id_too=True)
        self.join_out = self.sync_out = NO
        self.left = YES

    def _on_leave_answered(self) -> None:
        self._answered("leave")

    def _on_lookup_sent(self) -> None:
        self.asked["lookup"] += 1
        if self.source == "wire":
            self._lose_coordinator()

    def _on_lookup_answered(self) -> None:
        self._answered("lookup")
        if self._succeeded() and self.coordinator == NO:
            self.coordinator = YES
            self.life_at = self.quiet_at = self.now
            self.life_hole = self.quiet_hole = 0

    def _on_coordinator_lost(self) -> None:
        self._lose_coordinator()

    def _on_session_expired(self) -> None:
        self.life_at, self.life_hole = self.now, 0

    def _on_unsubscribed(self) -> None:
        # Without a coordinator nothing shows when the identity goes.
        self._give_up_requests()
        self.generation = self.generation_before = self.joined = UNKNOWN_GENERATION
        self.active = self.lost = NO
        self.asked_to_leave = YES

    def _give_up_requests(self) -> None:
        """Who leaves waits for neither; a static member has no LeaveGroup that would show it."""
        self.join_out = UNKNOWN if self.join_out else NO
        self.sync_out = UNKNOWN if self.sync_out else NO

    def _on_poll_expired(self) -> None:
        self._give_up_requests()
        self.active = NO
        self.lost, self.lost_at = YES, self.now
        self.generation = self.generation_before = UNKNOWN_GENERATION

    def _on_closed(self) -> None:
        self._lose_identity(id_too=True)
        self.left = YES
        self.owned.clear()
        self.owned_known = True

    def _answered(self, api: str) -> None:
        if self.line.error in _NO_ANSWER:
            return
        self.answered[api] += 1
        if self.answered[api] > self.asked[api]:
            self._report("T-UNASKED-ANSWER", self.asked[api], self.answered[api])
            self.answered[api] = self.asked[api]

    def _succeeded(self) -> bool:
        return self.line.error in (None, "NONE")

    def _maybe_expelled(self, *, keeps_id: bool = False) -> None:
        mine = self.line.generation in (self.generation, NO_GENERATION) and not self.is_said_late
        if self.line.error in _EXPELLED and mine:
            self._be_expelled(keeps_id=keeps_id)
        elif self.line.error == "REBALANCE_IN_PROGRESS":
            self.announced = YES

    def _be_expelled(self, *, keeps_id: bool = False) -> None:
        if self.generation >= 0 and self.asked_to_leave == NO:
            self.lost, self.lost_at = YES, self.now
        self._lose_identity(id_too=self.line.error == "UNKNOWN_MEMBER_ID" and not keeps_id)

    def _lose_identity(self, *, id_too: bool) -> None:
        self.generation = self.generation_before = self.joined = NO_GENERATION
        self.active = NO
        if id_too and self.member_id:
            self.gone_id, self.member_id = self.member_id, ""
            self.lost_at = self.now

    def _loss_has_arrived(self) -> bool:
        """On the wire an answer has been sent; what the member sent before it arrived is no fault."""
        return self.source == "reference" or self.now > self.lost_at + IN_FLIGHT_US

    def _is_foreign(self) -> bool:
        return bool(self.member_id) and self.line.member_id != self.member_id

    def _check_gone_id(self) -> None:
        """An id that was given up, or that the coordinator does not know, is used again."""
        line = self.line
        carries = line.event.endswith("_sent") and line.event not in ("leave_sent", "lookup_sent")
        used = carries and bool(self.gone_id) and line.member_id == self.gone_id
        if used and not set(self.broken).difference(_NOT_ACTIONS) and self._loss_has_arrived():
            self._report("T-MEMBER-ID")

    def _lose_coordinator(self) -> None:
        self.coordinator = NO
        self.join_out = UNKNOWN if self.join_out else NO
        self.sync_out = UNKNOWN if self.sync_out else NO

    # Ownership --------------------------------------------------------------------------------------------------------

    def _on_assigned_started(self) -> None:
        self._take()
        self.assigning = True

    def _on_assigned(self) -> None:
        if not self.assigning:
            self._take()
        self.assigning = False
        if self.generation >= 0 and self.owned_known:
            line = self.line
            static = self.settings is not None and self.settings.static
            owner = (line.member, "" if static else line.process)
            self.claims += [
                Claim(
                    self.generation, partition, line.member, line.seq, self.state_before, line.event, line.at_us, owner
                )
                for partition in sorted(self.owned)
            ]

    def _take(self) -> None:
        for partition in self.line.partitions:
            if partition in self.owned:
                self._report("T-ASSIGNED-OWNED", partition=partition)
            self.owned.add(partition)

    def _on_revoked_started(self) -> None:
        self._check_owned()
        if self.line.event == "revoked_started":
            self._check_said()
        self.releasing = True

    def _on_revoked(self) -> None:
        self._release()

    _on_lost_started = _on_revoked_started
    _on_lost = _on_revoked

    def _release(self) -> None:
        if not self.releasing:
            self._check_owned()
        self.releasing = False
        self.owned.difference_update(self.line.partitions)
        eager = self.settings is not None and self.settings.rebalance == "eager"
        if self.line.event == "lost" or (eager and not self.owned_known):
            self.owned.clear()
            self.owned_known = True

    def _check_said(self) -> None:
        """A callback that a rebalance had begun may be under way when the membership is lost: it stays what it is."""
        says_lost = self.settings is not None and self.settings.lost_callback
        if self.lost and says_lost and self.announced == NO and self.line.partitions:
            self._report("T-LOST-NOT-SAID")

    def _check_owned(self) -> None:
        for partition in self.line.partitions:
            if self.owned_known and partition not in self.owned:
                self._report("T-RELEASED-NOT-OWNED", partition=partition)

    # The table --------------------------------------------------------------------------------------------------------

    def _step_table(self) -> None:
        if self.state < 0:
            return
        error = ERROR_CODES.get(self.line.error or "NONE", ERROR_CODES["OTHER"])
        symbol = int(self.projection.symbols[EVENT_CODES[self.line.event], error])
        if symbol < 0 or self.late:
            return
        after = int(self.projection.next_state[self.state, symbol])
        if after < 0:
            if not set(self.broken).difference(_NOT_ACTIONS):
                self._report("T-ILLEGAL-TRANSITION")
            after = int(self.projection.next_state[int(self.projection.unknown[self.mode]), symbol])
        self.state = after


def check_member(lines: Iterable[TraceLine], projection: Projection) -> ReferenceMember:
    """All events of one member, in order."""
    member = ReferenceMember(projection)
    for line in lines:
        member.handle(line)
    member.end_term()
    return member


def _beyond(silent_us: int, hole_us: int, bound_us: int, standstill_us: int) -> bool:
    """Whether a silence is too long, the longest time left out in which the process may have stood still."""
    return silent_us - (hole_us if hole_us > standstill_us else 0) > bound_us


def _who(line: TraceLine) -> tuple[str, str, str, str]:
    return line.run, line.group, line.member, line.process


def members(lines: Iterable[TraceLine]) -> Iterator[list[TraceLine]]:
    """Events in the layout's order, cut into members."""
    current: list[TraceLine] = []
    for line in lines:
        if current and _who(current[0]) != _who(line):
            yield current
            current = []
        current.append(line)
    if current:
        yield current


def second_owners(claims: Iterable[Claim]) -> list[tuple[Claim, str]]:
    """What `group_checks.conflicts` finds in one group's claims: the second owner's claim, and the other member."""
    owners: dict[tuple[int, str], dict[tuple[str, str], Claim]] = {}
    for claim in claims:
        owners.setdefault((claim.generation, claim.partition), {}).setdefault(claim.owner, claim)
    conflicts = []
    for by_owner in owners.values():
        names = sorted(by_owner)
        conflicts += [(by_owner[name], other[0]) for other, name in pairwise(names)]
    return conflicts


def findings_of_terms(terms: Sequence[Term]) -> list[Found]:
    """What `group_checks.findings` finds, for the terms of one group; a member's terms in the order of its events."""
    by_process: dict[tuple[int, int], list[Term]] = {}
    for term in terms:
        by_process.setdefault((term.member, term.process), []).append(term)
    found = []
    stormy: set[int] = set()
    ends: dict[int, tuple[int, int]] = {}
    for (member, _), own in sorted(by_process.items()):
        for place, term in enumerate(own):
            if 0 < term.poll_us < term.waited:
                where = (member, term.seq, term.joined_at, EVENT)
                found.append(Found("T-LONG-JOIN", *where, term.poll_us // 1000, term.waited // 1000))
            begun = own[place - REBALANCES_OF_A_STORM + 1] if place >= REBALANCES_OF_A_STORM - 1 else None
            if begun is not None and term.joined_at - begun.joined_at <= STORM_US and member not in stormy:
                stormy.add(member)
                took_ms = (term.joined_at - begun.joined_at) // 1000
                where = (member, term.seq, term.joined_at, EVENT)
                found.append(Found("T-MANY-REBALANCES", *where, REBALANCES_OF_A_STORM, took_ms))
            again = place > 0 and own[place - 1].generation == term.generation
            then = own[place + 1] if place + 1 < len(own) else None
            is_known = term.together and term.synced and then and then.synced
            if is_known and not term.static and not again and then and then.generation > term.generation:
                until = then.joined_at - term.joined_at + term.session_us
                ends[term.generation] = min(ends.get(term.generation, _NEVER), (until, member))
    for term in terms:
        until, other = ends.get(term.generation, _NEVER)
        if term.synced and other != term.member and (late := term.last_at - term.joined_at - until) > 0:
            where = (term.member, term.last_seq, term.last_at, EVENTS[term.last_event])
            found.append(Found("T-STALE-ACCEPTED", *where, term.generation, late // 1000, other))
    return found


def _says_late(detail: msgspec.Raw | msgspec.UnsetType) -> bool | None:
    """What the recorder itself says about an answer, `"late": true` or `false` in the detail; None: nothing."""
    late = None if detail is msgspec.UNSET else msgspec.json.decode(detail, type=AnswerDetail).late
    return late if isinstance(late, bool) else None
