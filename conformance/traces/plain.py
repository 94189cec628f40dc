"""The trace rules in plain Python, one event at a time: written to be read, and the oracle for the compiled kernel.

`kernel.py` does the same over columns, compiled, some hundred times faster. The two are written apart and share only the names
of the registers, the rules and the projected table; a test compares them on every sample and on thousands of edited traces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from groupspec.conformance.traces.projection import Projection
from groupspec.conformance.traces.registers import (
    APIS,
    GRACE_US,
    NO,
    NO_GENERATION,
    NOT_BEFORE_THE_NEXT_US,
    UNKNOWN,
    UNKNOWN_GENERATION,
    YES,
)
from groupspec.conformance.traces.schema import ERROR_CODES, EVENT_CODES, AnswerDetail, Settings, TraceLine
from groupspec.conformance.traces.trace_rules import CODES, Violation, detail

_EXPELLED: Final = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID")
_NO_ANSWER: Final = ("DISCONNECTED", "TIMED_OUT")  # the transport gave up; the answer may still come, late
_BY_GENERATION: Final = ("heartbeat_answered", "commit_answered")
_NOT_ACTIONS: Final = ("T-TIME-BACKWARDS", "T-SEQUENCE-GAP")


class Claim(msgspec.Struct, frozen=True, order=True):
    """A member's word, in an assigned callback, that a partition is its own in this generation."""

    generation: int
    partition: str
    member: str
    seq: int
    state: str
    event: str
    at_us: int


def says_late(detail: msgspec.Raw | msgspec.UnsetType) -> bool | None:
    """What the recorder itself says about an answer, `"late": true` or `false` in the detail; None: nothing."""
    late = None if detail is msgspec.UNSET else msgspec.json.decode(detail, type=AnswerDetail).late
    return late if isinstance(late, bool) else None


class PlainMember:
    """What one member's events tell, one by one."""

    def __init__(self, projection: Projection) -> None:
        self.projection = projection
        self.violations: list[Violation] = []
        self.claims: list[Claim] = []
        self.last_seq = -1
        self.last_at = 0
        self.now = 0
        self.state = -1
        self.mode = 0
        self.source = "log"
        self._restart(None)

    def _restart(self, settings: Settings | None) -> None:
        """A new incarnation: a process of this client id that has just started."""
        self.settings = settings
        self.generation = self.generation_before = self.joined = NO_GENERATION
        self.active = self.join_out = self.sync_out = self.left = NO
        self.life_at = self.poll_at = self.now
        self.poll_seen = NO
        self.coordinator = YES
        self.owned: set[str] = set()
        self.owned_known = True
        self.releasing = self.assigning = False
        self.asked = dict.fromkeys(APIS, 0)
        self.answered = dict.fromkeys(APIS, 0)

    # One event ---------------------------------------------------------------------------------------------------------

    def handle(self, line: TraceLine) -> None:
        """Judges one event and remembers what it told."""
        self.line = line
        self.broken: list[str] = []
        self.state_before = self._state_name()
        if line.seq <= self.last_seq:
            self._report("T-SEQUENCE-DUPLICATE", 0, line.seq)
            return
        if line.seq != self.last_seq + 1:
            self._report("T-SEQUENCE-GAP", self.last_seq + 1, line.seq)
            self._forget(line.seq - self.last_seq - 1)
        self.last_seq = line.seq
        if line.event == "config":
            self.last_at = self.now = line.at_us  # another process, another clock
        if line.at_us < self.last_at:
            self._report("T-TIME-BACKWARDS", self.last_at, line.at_us)
        self.last_at = line.at_us
        self.now = max(self.now, line.at_us)
        # An answer to a request of another generation is late, one of none is not the group's: the table hears of neither.
        other = line.generation == NO_GENERATION or line.generation != self.generation
        said = says_late(line.detail)
        self.late = (line.event in _BY_GENERATION and other) if said is None else said
        self._check_gaps()
        getattr(self, f"_on_{line.event}", self._on_other)()
        self._step_table()

    def _report(self, rule: str, a: int = 0, b: int = 0, partition: str = "") -> None:
        self.broken.append(rule)
        line = self.line
        text = detail(CODES[rule], a, b, partition)
        place = (line.run, line.group, line.member, line.seq)
        self.violations.append(Violation(*place, rule, self.state_before, line.event, line.at_us, text))

    def _state_name(self) -> str:
        return self.projection.names[self.state] if self.state >= 0 else ""

    def _forget(self, missing: int) -> None:
        """After a gap nothing is known but the settings."""
        self.generation = self.generation_before = self.joined = UNKNOWN_GENERATION
        self.active = self.left = NO
        self.join_out = self.sync_out = UNKNOWN
        self.poll_seen = NO
        self.coordinator = YES
        self.owned.clear()
        self.owned_known = self.releasing = self.assigning = False
        for api in APIS:
            self.asked[api] += missing
        if self.state >= 0:
            self.state = int(self.projection.unknown[self.mode])

    # Silence -----------------------------------------------------------------------------------------------------------

    def _check_gaps(self) -> None:
        settings = self.settings
        if settings is None or not self.active:
            return
        poll_us, session_us = settings.max_poll_interval_ms * 1000, settings.session_timeout_ms * 1000
        poll_over = self.poll_seen and poll_us and self.now - self.poll_at > poll_us
        silent_us = self.now - self.life_at
        if session_us and silent_us > session_us and self.coordinator and not poll_over:
            self._report("T-HEARTBEAT-GAP", session_us // 1000, silent_us // 1000)
            self.life_at = NOT_BEFORE_THE_NEXT_US
        judged = self.line.event == "heartbeat_sent" or (self.line.event == "poll" and self._poll_expiry_would_show())
        if judged and self.coordinator and poll_over and self.now - self.poll_at > poll_us + GRACE_US:
            self._report("T-POLL-GAP", poll_us // 1000, (self.now - self.poll_at) // 1000)
            self.poll_seen = NO

    def _poll_expiry_would_show(self) -> bool:
        """On the wire a static member's expiry is only the end of its heartbeats."""
        return not (self.source == "wire" and self.settings is not None and self.settings.static)

    # What each event tells ---------------------------------------------------------------------------------------------

    def _on_other(self) -> None:
        pass

    def _on_config(self) -> None:
        assert self.line.detail is not msgspec.UNSET, "the reader lets no config event without settings pass"
        settings = msgspec.json.decode(self.line.detail, type=Settings)
        self.source = self.line.source
        self._restart(settings)
        self.mode = self.projection.mode(self.source, settings.rebalance == "eager")
        self.state = int(self.projection.start[self.mode])

    def _on_poll(self) -> None:
        self.poll_at, self.poll_seen = self.now, YES

    def _on_join_sent(self) -> None:
        if YES in (self.join_out, self.sync_out):
            self._report("T-TWO-JOINS")
        self.join_out, self.sync_out, self.active = YES, NO, NO
        self.asked["join"] += 1

    def _on_join_answered(self) -> None:
        self._answered("join")
        waited, self.join_out = self.join_out, NO
        if waited == NO:
            return
        generation = self.line.generation
        if self._succeeded():
            if generation < self.generation:
                self._report("T-GENERATION-BACKWARDS", self.generation, generation)
            self.generation_before = self.generation
            self.generation = self.joined = generation
            self.active, self.left = YES, NO
            self.life_at = self.now
            self.poll_at = self.now
        elif self.line.error in _EXPELLED:
            self._lose_identity()

    def _on_sync_sent(self) -> None:
        generation = self.line.generation
        if self.joined >= 0 and generation != self.joined:
            self._report("T-SYNC-GENERATION", self.joined, generation)
        self.sync_out = YES
        self.generation_before = self.generation
        self.asked["sync"] += 1

    def _on_sync_answered(self) -> None:
        self._answered("sync")
        self.sync_out = NO
        self._maybe_expelled()

    def _on_heartbeat_sent(self) -> None:
        generation = self.line.generation
        told = self.source == "reference" and self.generation == NO_GENERATION
        if self.left or told:
            self._report("T-HEARTBEAT-NO-MEMBER", 0, generation)
        elif self.join_out == YES:
            self._report("T-HEARTBEAT-JOINING", 0, generation)
        elif 0 <= generation < self.generation:
            self._report("T-GENERATION-BACKWARDS", self.generation, generation)
        self.life_at = self.now
        self.asked["heartbeat"] += 1

    def _on_heartbeat_answered(self) -> None:
        self._answered("heartbeat")
        self._maybe_expelled()

    def _on_commit_sent(self) -> None:
        generation = self.line.generation
        under_way = self.source == "wire" and generation == self.generation_before
        if self.generation != UNKNOWN_GENERATION and generation != self.generation and not under_way:
            self._report("T-COMMIT-GENERATION", self.generation, generation)
        self.asked["commit"] += 1

    def _on_commit_answered(self) -> None:
        self._answered("commit")
        self._maybe_expelled()

    def _on_leave_sent(self) -> None:
        if self.settings is not None and self.settings.static:
            self._report("T-STATIC-LEAVE")
        self.asked["leave"] += 1
        self._lose_identity()
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
            self.coordinator, self.life_at = YES, self.now

    def _on_coordinator_lost(self) -> None:
        self._lose_coordinator()

    def _on_session_expired(self) -> None:
        self.life_at = self.now

    def _on_unsubscribed(self) -> None:
        # Without a coordinator nothing shows when the identity goes, or that a request is given up.
        self.join_out = UNKNOWN if self.join_out else NO
        self.sync_out = UNKNOWN if self.sync_out else NO
        self.generation = self.generation_before = self.joined = UNKNOWN_GENERATION
        self.active = NO

    def _on_poll_expired(self) -> None:
        self.active = NO
        self.generation = self.generation_before = UNKNOWN_GENERATION

    def _on_closed(self) -> None:
        self._lose_identity()
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

    def _maybe_expelled(self) -> None:
        if self.line.error in _EXPELLED and self.line.generation in (self.generation, NO_GENERATION):
            self._lose_identity()

    def _lose_identity(self) -> None:
        self.generation = self.generation_before = self.joined = NO_GENERATION
        self.active = NO

    def _lose_coordinator(self) -> None:
        self.coordinator = NO
        self.join_out = UNKNOWN if self.join_out else NO
        self.sync_out = UNKNOWN if self.sync_out else NO

    # Ownership ---------------------------------------------------------------------------------------------------------

    def _on_assigned_started(self) -> None:
        self._take()
        self.assigning = True

    def _on_assigned(self) -> None:
        if not self.assigning:
            self._take()
        self.assigning = False
        if self.generation >= 0 and self.owned_known:
            line = self.line
            self.claims += [
                Claim(self.generation, partition, line.member, line.seq, self.state_before, line.event, line.at_us)
                for partition in sorted(self.owned)
            ]

    def _take(self) -> None:
        for partition in self.line.partitions:
            if partition in self.owned:
                self._report("T-ASSIGNED-OWNED", partition=partition)
            self.owned.add(partition)

    def _on_revoked_started(self) -> None:
        self._check_owned()
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
        if eager or self.line.event == "lost":
            self.owned.clear()
            self.owned_known = True

    def _check_owned(self) -> None:
        for partition in self.line.partitions:
            if self.owned_known and partition not in self.owned:
                self._report("T-RELEASED-NOT-OWNED", partition=partition)

    # The table ---------------------------------------------------------------------------------------------------------

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


def check_member(lines: Iterable[TraceLine], projection: Projection) -> PlainMember:
    """All events of one member, in order."""
    member = PlainMember(projection)
    for line in lines:
        member.handle(line)
    return member


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
