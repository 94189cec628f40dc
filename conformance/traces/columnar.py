"""The columnar checker: all trace rules over columns of integers, compiled, member after member, batch after batch.

`judge` reads a batch (rows in the layout's order) and goes on where the batch before ended: the registers, the owned
partitions and the state of the projected rebalance table are carried in `Carry`. So a member, or a group, may be spread
over any number of batches; a checker that began anew with each batch would report what no member did.

The loop is one function because it is one pass over the data. It says the same as `tests/reference_checker.py`, rule
for rule and in the same order; read that file to understand a rule.
"""

from __future__ import annotations

from typing import Final

import numba
import numpy as np
import numpy.typing as npt

from groupspec.conformance.bounds import IN_FLIGHT_US
from groupspec.conformance.traces.registers import (
    APIS,
    GRACE_US,
    NO,
    NO_GENERATION,
    NOT_BEFORE_THE_NEXT_US,
    UNKNOWN,
    UNKNOWN_GENERATION,
    YES,
    Register,
)
from groupspec.conformance.traces.schema import ERROR_CODES, EVENT_CODES, SOURCE_CODES
from groupspec.conformance.traces.trace_rules import CODES

Ints = npt.NDArray[np.int64]

FINDING_COLUMNS: Final = 6  # row, rule, a, b, partition (-1: none), state before
CLAIM_COLUMNS: Final = 5  # row, generation, partition, state before, static
SETTING_COLUMNS: Final = (
    7  # eager, session timeout and poll interval in us, static, heartbeat bound in us, two of the listener
)
# The row at which a generation ended, whether it is of the member before that row, and the fields of `terms.Term` but
# the first.
TERM_COLUMNS: Final = 14

# Plain integers, so that the compiler takes them as constants.
_NO, _YES, _UNKNOWN = int(NO), int(YES), int(UNKNOWN)
_NOT_BEFORE_THE_NEXT_US = int(NOT_BEFORE_THE_NEXT_US)
_NO_GENERATION, _UNKNOWN_GENERATION, _GRACE_US = int(NO_GENERATION), int(UNKNOWN_GENERATION), int(GRACE_US)
_IN_FLIGHT_US = int(IN_FLIGHT_US)
_WIRE, _REFERENCE = SOURCE_CODES["wire"], SOURCE_CODES["reference"]
_UNKNOWN_MEMBER, _ILLEGAL_GENERATION, _FENCED = (
    ERROR_CODES[name] for name in ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID")
)
_REBALANCING, _ID_REQUIRED = ERROR_CODES["REBALANCE_IN_PROGRESS"], ERROR_CODES["MEMBER_ID_REQUIRED"]

_DISCONNECTED, _TIMED_OUT = ERROR_CODES["DISCONNECTED"], ERROR_CODES["TIMED_OUT"]

_CONFIG = EVENT_CODES["config"]
_SUBSCRIBED = EVENT_CODES["subscribed"]
_UNSUBSCRIBED = EVENT_CODES["unsubscribed"]
_POLL = EVENT_CODES["poll"]
_LOOKUP_SENT = EVENT_CODES["lookup_sent"]
_LOOKUP_ANSWERED = EVENT_CODES["lookup_answered"]
_COORDINATOR_LOST = EVENT_CODES["coordinator_lost"]
_JOIN_SENT = EVENT_CODES["join_sent"]
_JOIN_ANSWERED = EVENT_CODES["join_answered"]
_SYNC_SENT = EVENT_CODES["sync_sent"]
_SYNC_ANSWERED = EVENT_CODES["sync_answered"]
_HEARTBEAT_SENT = EVENT_CODES["heartbeat_sent"]
_HEARTBEAT_ANSWERED = EVENT_CODES["heartbeat_answered"]
_LEAVE_SENT = EVENT_CODES["leave_sent"]
_LEAVE_ANSWERED = EVENT_CODES["leave_answered"]
_COMMIT_SENT = EVENT_CODES["commit_sent"]
_COMMIT_ANSWERED = EVENT_CODES["commit_answered"]
_REVOKED_STARTED = EVENT_CODES["revoked_started"]
_REVOKED = EVENT_CODES["revoked"]
_LOST_STARTED = EVENT_CODES["lost_started"]
_LOST = EVENT_CODES["lost"]
_ASSIGNED_STARTED = EVENT_CODES["assigned_started"]
_ASSIGNED = EVENT_CODES["assigned"]
_POLL_EXPIRED = EVENT_CODES["poll_expired"]
_SESSION_EXPIRED = EVENT_CODES["session_expired"]
_CLOSED = EVENT_CODES["closed"]

_ILLEGAL = CODES["T-ILLEGAL-TRANSITION"]
_GAP = CODES["T-SEQUENCE-GAP"]
_DUPLICATE = CODES["T-SEQUENCE-DUPLICATE"]
_TIME_BACK = CODES["T-TIME-BACKWARDS"]
_GENERATION_BACK = CODES["T-GENERATION-BACKWARDS"]
_HEARTBEAT_GAP = CODES["T-HEARTBEAT-GAP"]
_POLL_GAP = CODES["T-POLL-GAP"]
_ASSIGNED_OWNED = CODES["T-ASSIGNED-OWNED"]
_NOT_OWNED = CODES["T-RELEASED-NOT-OWNED"]
_COMMIT_GENERATION = CODES["T-COMMIT-GENERATION"]
_NO_MEMBER = CODES["T-HEARTBEAT-NO-MEMBER"]
_JOINING = CODES["T-HEARTBEAT-JOINING"]
_TWO_JOINS = CODES["T-TWO-JOINS"]
_SYNC_GENERATION = CODES["T-SYNC-GENERATION"]
_STATIC_LEAVE = CODES["T-STATIC-LEAVE"]
_UNASKED = CODES["T-UNASKED-ANSWER"]
_MIXED_PROCESSES = CODES["T-MIXED-PROCESSES"]
_STANDSTILL = CODES["T-STANDSTILL"]
_MEMBER_IDS = CODES["T-MEMBER-ID"]
_JUMP = CODES["T-GENERATION-JUMP"]
_RARE = CODES["T-HEARTBEAT-RARE"]
_NOT_SAID = CODES["T-LOST-NOT-SAID"]
_COMMIT_NO_MEMBER = CODES["T-COMMIT-NO-MEMBER"]

_STATE = int(Register.STATE)
_LAST_SEQ = int(Register.LAST_SEQ)
_LAST_AT = int(Register.LAST_AT)
_NOW = int(Register.NOW)
_SOURCE = int(Register.SOURCE)
_CONFIGURED = int(Register.CONFIGURED)
_SESSION_US = int(Register.SESSION_US)
_POLL_US = int(Register.POLL_US)
_STATIC = int(Register.STATIC)
_EAGER = int(Register.EAGER)
_GENERATION = int(Register.GENERATION)
_BEFORE = int(Register.GENERATION_BEFORE)
_JOINED = int(Register.JOINED)
_ACTIVE = int(Register.ACTIVE)
_LIFE_AT = int(Register.LIFE_AT)
_POLL_AT = int(Register.POLL_AT)
_POLL_SEEN = int(Register.POLL_SEEN)
_COORDINATOR = int(Register.COORDINATOR)
_JOIN_OUT = int(Register.JOIN_OUT)
_SYNC_OUT = int(Register.SYNC_OUT)
_LEFT = int(Register.LEFT)
_OWNED_KNOWN = int(Register.OWNED_KNOWN)
_RELEASING = int(Register.RELEASING)
_ASSIGNING = int(Register.ASSIGNING)
_STAMP = int(Register.STAMP)
_OWNED_COUNT = int(Register.OWNED_COUNT)
_ASKED = int(Register.ASKED)
_ANSWERED = int(Register.ANSWERED)
_BOUND_US = int(Register.BOUND_US)
_SAYS_LOST = int(Register.SAYS_LOST)
_QUIET_AT = int(Register.QUIET_AT)
_HOLE_LIFE = int(Register.HOLE_LIFE)
_HOLE_QUIET = int(Register.HOLE_QUIET)
_HOLE_POLL = int(Register.HOLE_POLL)
_MIXED = int(Register.MIXED)
_MEMBER_ID = int(Register.MEMBER_ID)
_GONE_ID = int(Register.GONE_ID)
_LOST_MEMBERSHIP = int(Register.LOST)
_LOST_AT = int(Register.LOST_AT)
_ANNOUNCED = int(Register.ANNOUNCED)
_ASKED_TO_LEAVE = int(Register.ASKED_TO_LEAVE)
_JOINS = int(Register.JOINS)
_JOIN_AT = int(Register.JOIN_AT)
_TERM_AT = int(Register.TERM_AT)
_TERM_WAITED = int(Register.TERM_WAITED)
_TERM_TOGETHER = int(Register.TERM_TOGETHER)
_TERM_LAST_AT = int(Register.TERM_LAST_AT)
_TERM_LAST_SEQ = int(Register.TERM_LAST_SEQ)
_COMMIT_AT = int(Register.COMMIT_AT)
_PROCESS = int(Register.PROCESS)
_TERM_SEQ = int(Register.TERM_SEQ)
_TERM_LAST_EVENT = int(Register.TERM_LAST_EVENT)
_TERM_GENERATION = int(Register.TERM_GENERATION)
_API_COUNT: Final = 6
_HEARTBEAT = APIS.index("heartbeat")


def _api_of(event: str) -> int:
    api, _, kind = event.partition("_")
    return APIS.index(api) if kind in ("sent", "answered") and api in APIS else -1


_API = np.array([_api_of(event) for event in EVENT_CODES], np.int64)


def last_term(registers: Ints) -> list[int] | None:
    """The last member's generation when its trace ended: the columns of `terms` after the first two."""
    terms = np.zeros((1, TERM_COLUMNS), np.int64)
    ended = _end_term(registers.copy(), terms, 0, 0, 0)
    return [int(value) for value in terms[0, 2:]] if ended else None


class Carry:
    """What goes from one batch to the next.

    `owned_by[p]` is the stamp of the member that owns partition p, and `owned[:count]` lists them; a new member takes a
    new stamp, which empties the set at once.
    """

    def __init__(self) -> None:
        self.registers = np.zeros(int(Register.COUNT), np.int64)
        self.registers[_TERM_AT] = -1
        self.owned_by = np.zeros(0, np.int64)
        self.owned = np.zeros(0, np.int64)
        self.place = np.zeros(0, np.int64)

    def copy(self) -> Carry:
        """The same, to go back to."""
        other = Carry()
        other.registers, other.owned_by = self.registers.copy(), self.owned_by.copy()
        other.owned, other.place = self.owned.copy(), self.place.copy()
        return other

    def make_room(self, partitions: int) -> None:
        """Room for so many different partitions."""
        missing = partitions - len(self.owned_by)
        if missing > 0:
            more = np.zeros(max(missing, len(self.owned_by)), np.int64)
            self.owned_by = np.concatenate([self.owned_by, more])
            self.owned = np.concatenate([self.owned, more])
            self.place = np.concatenate([self.place, more])


@numba.njit(cache=True, nogil=True)
def _restart(r):  # type: ignore[no-untyped-def]
    r[_GENERATION] = r[_BEFORE] = r[_JOINED] = _NO_GENERATION
    r[_ACTIVE] = r[_JOIN_OUT] = r[_SYNC_OUT] = r[_LEFT] = r[_POLL_SEEN] = _NO
    r[_LIFE_AT] = r[_POLL_AT] = r[_QUIET_AT] = r[_NOW]
    r[_HOLE_LIFE] = r[_HOLE_POLL] = r[_HOLE_QUIET] = 0
    r[_MEMBER_ID] = r[_GONE_ID] = r[_JOINS] = 0
    r[_LOST_MEMBERSHIP] = r[_ANNOUNCED] = r[_ASKED_TO_LEAVE] = _NO
    r[_TERM_AT] = -1
    r[_COORDINATOR] = r[_OWNED_KNOWN] = _YES
    r[_RELEASING] = r[_ASSIGNING] = _NO
    r[_STAMP] += 1
    r[_OWNED_COUNT] = 0
    r[_ASKED : _ASKED + _API_COUNT] = 0
    r[_ANSWERED : _ANSWERED + _API_COUNT] = 0


@numba.njit(cache=True, nogil=True)
def _forget(r, missing, mode, unknown):  # type: ignore[no-untyped-def]
    r[_GENERATION] = r[_BEFORE] = r[_JOINED] = _UNKNOWN_GENERATION
    r[_ACTIVE] = r[_LEFT] = r[_POLL_SEEN] = _NO
    r[_LOST_MEMBERSHIP] = _NO
    r[_MEMBER_ID] = r[_GONE_ID] = 0
    r[_JOINS] += missing
    r[_ASKED_TO_LEAVE] = r[_ANNOUNCED] = _UNKNOWN
    r[_JOIN_OUT] = r[_SYNC_OUT] = _UNKNOWN
    r[_COORDINATOR] = _YES
    r[_OWNED_KNOWN] = r[_RELEASING] = r[_ASSIGNING] = _NO
    r[_STAMP] += 1
    r[_OWNED_COUNT] = 0
    r[_ASKED : _ASKED + _API_COUNT] += missing
    if r[_STATE] >= 0:
        r[_STATE] = unknown[mode]


@numba.njit(cache=True, nogil=True)
def _lose_identity(r, id_too):  # type: ignore[no-untyped-def]
    r[_GENERATION] = r[_BEFORE] = r[_JOINED] = _NO_GENERATION
    r[_ACTIVE] = _NO
    if id_too and r[_MEMBER_ID] != 0:
        r[_GONE_ID] = r[_MEMBER_ID]
        r[_MEMBER_ID] = 0
        r[_LOST_AT] = r[_NOW]


@numba.njit(cache=True, nogil=True)
def _be_expelled(r, unknown_member):  # type: ignore[no-untyped-def]
    if r[_GENERATION] >= 0 and r[_ASKED_TO_LEAVE] == _NO:
        r[_LOST_MEMBERSHIP] = _YES
        r[_LOST_AT] = r[_NOW]
    _lose_identity(r, unknown_member)


@numba.njit(cache=True, nogil=True)
def _end_term(r, terms, count, row, before):  # type: ignore[no-untyped-def]
    """Writes down the generation that ends here, if the member was in one."""
    if r[_TERM_AT] < 0:
        return count
    if count < len(terms):
        term = terms[count]
        term[0] = row
        term[1] = before
        term[2] = r[_TERM_GENERATION]
        term[3] = r[_TERM_AT]
        term[4] = r[_TERM_SEQ]
        term[5] = r[_TERM_WAITED]
        term[6] = r[_TERM_TOGETHER]
        term[7] = r[_TERM_LAST_AT]
        term[8] = r[_TERM_LAST_SEQ]
        term[9] = r[_TERM_LAST_EVENT]
        term[10] = r[_STATIC]
        term[11] = r[_SESSION_US]
        term[12] = r[_POLL_US]
        term[13] = r[_PROCESS]
    r[_TERM_AT] = -1
    return count + 1


@numba.njit(cache=True, nogil=True)
def _lose_coordinator(r):  # type: ignore[no-untyped-def]
    r[_COORDINATOR] = _NO
    _give_up_requests(r)


@numba.njit(cache=True, nogil=True)
def _give_up_requests(r):  # type: ignore[no-untyped-def]
    if r[_JOIN_OUT] != _NO:
        r[_JOIN_OUT] = _UNKNOWN
    if r[_SYNC_OUT] != _NO:
        r[_SYNC_OUT] = _UNKNOWN


@numba.njit(cache=True, nogil=True)
def _take(r, p, owned_by, owned, place):  # type: ignore[no-untyped-def]
    """Adds a partition to the owned; False if it was there."""
    if owned_by[p] == r[_STAMP]:
        return False
    owned_by[p] = r[_STAMP]
    place[p] = r[_OWNED_COUNT]
    owned[r[_OWNED_COUNT]] = p
    r[_OWNED_COUNT] += 1
    return True


@numba.njit(cache=True, nogil=True)
def _release(r, p, owned_by, owned, place):  # type: ignore[no-untyped-def]
    if owned_by[p] != r[_STAMP]:
        return
    owned_by[p] = 0
    r[_OWNED_COUNT] -= 1
    last = owned[r[_OWNED_COUNT]]
    owned[place[p]] = last
    place[last] = place[p]


@numba.njit(cache=True, nogil=True)
def _release_all(r):  # type: ignore[no-untyped-def]
    r[_STAMP] += 1
    r[_OWNED_COUNT] = 0
    r[_OWNED_KNOWN] = _YES


@numba.njit(cache=True, nogil=True)
def _find(findings, count, row, rule, a, b, partition, state):  # type: ignore[no-untyped-def]
    """Writes a finding if there is room, and counts it anyway."""
    if count < len(findings):
        findings[count, 0] = row
        findings[count, 1] = rule
        findings[count, 2] = a
        findings[count, 3] = b
        findings[count, 4] = partition
        findings[count, 5] = state
    return count + 1


@numba.njit(cache=True, nogil=True)
def judge(  # type: ignore[no-untyped-def]
    begins, repeats, seq, at_us, source, event, error, generation, member_id, said_late, part_start, parts, setting,
    settings,
    r, owned_by, owned, place, symbols, next_state, start, unknown, findings, claims, terms,
):  # fmt: skip
    """Judges a batch.

    Returns how many findings, claims and terms there were; more than fit means: again, with more room.

    The carried arrays are changed in place, so whoever runs it again restores them first.
    """
    found = 0
    claimed = 0
    ended = 0
    for i in range(len(seq)):
        if begins[i]:
            ended = _end_term(r, terms, ended, i, 1)
            stamp = r[_STAMP]
            r[:] = 0
            r[_STAMP] = stamp
            r[_STATE] = r[_LAST_SEQ] = -1
            r[_SOURCE] = -1
            _restart(r)
        elif r[_MIXED] == _YES:
            continue
        e = event[i]
        at = at_us[i]
        mode = r[_SOURCE] * 2 + 1 - r[_EAGER]
        state = r[_STATE]
        g = generation[i]

        # The numbers, and the time
        if seq[i] <= r[_LAST_SEQ]:
            if repeats[i]:
                found = _find(findings, found, i, _DUPLICATE, 0, seq[i], -1, state)
            else:
                found = _find(findings, found, i, _MIXED_PROCESSES, 0, seq[i], -1, state)
                r[_MIXED] = _YES
                r[_TERM_AT] = -1
            continue
        if seq[i] != r[_LAST_SEQ] + 1:
            found = _find(findings, found, i, _GAP, r[_LAST_SEQ] + 1, seq[i], -1, state)
            _forget(r, seq[i] - r[_LAST_SEQ] - 1, mode, unknown)
        r[_LAST_SEQ] = seq[i]
        if e == _CONFIG:
            ended = _end_term(r, terms, ended, i, 0)
            r[_LAST_AT] = at  # another process, another clock
        elif at < r[_LAST_AT]:
            found = _find(findings, found, i, _TIME_BACK, r[_LAST_AT], at, -1, state)
            for clock in (_LIFE_AT, _POLL_AT, _QUIET_AT, _LOST_AT, _JOIN_AT, _COMMIT_AT):
                r[clock] -= r[_LAST_AT] - at
            r[_TERM_AT] = -1
        passed = at - r[_LAST_AT]
        r[_LAST_AT] = r[_NOW] = now = at
        excused = found  # findings up to here do not explain an illegal transition

        # Silence; the process that is silent from now on is not the one that was before a `config`
        if r[_CONFIGURED] and r[_ACTIVE] and e != _CONFIG:
            r[_HOLE_LIFE] = max(r[_HOLE_LIFE], passed)
            r[_HOLE_QUIET] = max(r[_HOLE_QUIET], passed)
            r[_HOLE_POLL] = max(r[_HOLE_POLL], passed)
            session, interval, bound = r[_SESSION_US], r[_POLL_US], r[_BOUND_US]
            unpolled = now - r[_POLL_AT]
            poll_over = r[_POLL_SEEN] == _YES and interval > 0 and unpolled > interval
            silent = now - r[_LIFE_AT]
            stood = session > 0 and passed > session
            due = r[_COORDINATOR] == _YES and not poll_over
            if stood:
                found = _find(findings, found, i, _STANDSTILL, 0, passed // 1000, -1, state)
                r[_TERM_AT] = -1  # its clock may have been set: not to be compared
            if session > 0 and due and silent - (r[_HOLE_LIFE] if r[_HOLE_LIFE] > session else 0) > session:
                found = _find(findings, found, i, _HEARTBEAT_GAP, session // 1000, silent // 1000, -1, state)
                r[_LIFE_AT] = r[_QUIET_AT] = _NOT_BEFORE_THE_NEXT_US
            quiet = now - r[_QUIET_AT]
            none_out = r[_ANSWERED + _HEARTBEAT] >= r[_ASKED + _HEARTBEAT]
            least = min(bound, session) if session > 0 else bound
            if bound > 0 and due and none_out and quiet - (r[_HOLE_QUIET] if r[_HOLE_QUIET] > least else 0) > bound:
                found = _find(findings, found, i, _RARE, bound // 1000, quiet // 1000, -1, state)
                r[_QUIET_AT] = _NOT_BEFORE_THE_NEXT_US
            shows = not (r[_SOURCE] == _WIRE and r[_STATIC] == _YES)
            judged = e == _HEARTBEAT_SENT or (e == _POLL and shows)
            hole = r[_HOLE_POLL] if session > 0 and r[_HOLE_POLL] > session else 0
            if judged and poll_over and r[_COORDINATOR] == _YES and unpolled - hole > interval + _GRACE_US:
                found = _find(findings, found, i, _POLL_GAP, interval // 1000, unpolled // 1000, -1, state)
                r[_POLL_SEEN] = _NO
            excused = found  # nor does silence

        # An answer to a request of another generation is late, one of none is not the group's: the table hears of
        # neither
        late = said_late[i] == _YES
        if said_late[i] == _UNKNOWN and e in (_HEARTBEAT_ANSWERED, _COMMIT_ANSWERED):
            late = g == _NO_GENERATION or g != r[_GENERATION]

        # Requests and answers are counted
        api = _API[e]
        answer = e in (
            _JOIN_ANSWERED,
            _SYNC_ANSWERED,
            _HEARTBEAT_ANSWERED,
            _LEAVE_ANSWERED,
            _COMMIT_ANSWERED,
            _LOOKUP_ANSWERED,
        )
        if answer and error[i] != _DISCONNECTED and error[i] != _TIMED_OUT:
            r[_ANSWERED + api] += 1
            if r[_ANSWERED + api] > r[_ASKED + api]:
                found = _find(findings, found, i, _UNASKED, r[_ASKED + api], r[_ANSWERED + api], -1, state)
                r[_ANSWERED + api] = r[_ASKED + api]

        # What each event tells
        expelled = error[i] == _UNKNOWN_MEMBER or error[i] == _ILLEGAL_GENERATION or error[i] == _FENCED
        if e == _CONFIG:
            k = setting[i]
            r[_SOURCE] = source[i]
            r[_CONFIGURED] = _YES
            r[_EAGER], r[_SESSION_US], r[_POLL_US], r[_STATIC] = settings[k, :4]
            r[_BOUND_US], r[_SAYS_LOST] = settings[k, 4:6]
            r[_PROCESS] += 1
            _restart(r)
            mode = r[_SOURCE] * 2 + 1 - r[_EAGER]
            r[_STATE] = start[mode] if settings[k, 6] == _YES else -1
        elif e == _POLL:
            r[_POLL_AT] = now
            r[_HOLE_POLL] = 0
            r[_POLL_SEEN] = _YES
        elif e == _SUBSCRIBED:
            r[_ASKED_TO_LEAVE] = _NO
        elif e == _JOIN_SENT:
            if r[_JOIN_OUT] == _YES or r[_SYNC_OUT] == _YES:
                found = _find(findings, found, i, _TWO_JOINS, 0, 0, -1, state)
            r[_JOIN_OUT] = _YES
            r[_SYNC_OUT] = r[_ACTIVE] = _NO
            r[_ASKED + api] += 1
            r[_JOINS] += 1
            r[_JOIN_AT] = now
        elif e == _JOIN_ANSWERED:
            waited_for = r[_JOIN_OUT]
            r[_JOIN_OUT] = _NO
            if waited_for != _NO and error[i] == 0:
                if g < r[_GENERATION]:
                    found = _find(findings, found, i, _GENERATION_BACK, r[_GENERATION], g, -1, state)
                elif (
                    r[_GENERATION] >= 0 and waited_for == _YES and r[_STATIC] == _NO and g > r[_GENERATION] + r[_JOINS]
                ):
                    found = _find(findings, found, i, _JUMP, r[_GENERATION], g, -1, state)
                r[_JOINS] = (
                    r[_JOINS] + r[_GENERATION] - g if g < r[_GENERATION] else 0
                )  # what a coordinator has forgotten may come back
                ended = _end_term(r, terms, ended, i, 0)
                r[_BEFORE] = r[_GENERATION]
                r[_GENERATION] = r[_JOINED] = r[_TERM_GENERATION] = g
                r[_ACTIVE] = _YES
                r[_LEFT] = r[_LOST_MEMBERSHIP] = r[_ANNOUNCED] = _NO
                r[_LIFE_AT] = r[_POLL_AT] = r[_QUIET_AT] = r[_TERM_AT] = now
                r[_HOLE_LIFE] = r[_HOLE_POLL] = r[_HOLE_QUIET] = 0
                r[_TERM_WAITED] = now - r[_JOIN_AT] if waited_for == _YES else 0
                r[_TERM_TOGETHER] = _YES if waited_for == _YES and r[_ANSWERED + api] == r[_ASKED + api] else _NO
                r[_TERM_SEQ] = seq[i]
                r[_TERM_LAST_AT] = r[_TERM_LAST_SEQ] = -1
                r[_MEMBER_ID] = member_id[i]
                r[_GONE_ID] = 0
            elif waited_for != _NO and error[i] == _ID_REQUIRED:
                r[_MEMBER_ID] = member_id[i]
                r[_GONE_ID] = 0
            elif waited_for != _NO and expelled:
                _be_expelled(r, error[i] == _UNKNOWN_MEMBER)
        elif e == _SYNC_SENT:
            if r[_JOINED] >= 0 and g != r[_JOINED]:
                found = _find(findings, found, i, _SYNC_GENERATION, r[_JOINED], g, -1, state)
            elif r[_MEMBER_ID] != 0 and member_id[i] != r[_MEMBER_ID]:
                found = _find(findings, found, i, _MEMBER_IDS, 0, 0, -1, state)
            r[_SYNC_OUT] = _YES
            r[_BEFORE] = r[_GENERATION]
            r[_ASKED + api] += 1
        elif e in (_SYNC_ANSWERED, _HEARTBEAT_ANSWERED, _COMMIT_ANSWERED):
            if e == _SYNC_ANSWERED:
                r[_SYNC_OUT] = _NO
            if e == _HEARTBEAT_ANSWERED:
                r[_QUIET_AT] = now
                r[_HOLE_QUIET] = 0
            if expelled and (g == r[_GENERATION] or g == _NO_GENERATION):
                _be_expelled(r, error[i] == _UNKNOWN_MEMBER)
            elif error[i] == _REBALANCING:
                r[_ANNOUNCED] = _YES
            elif (
                error[i] == 0 and e != _SYNC_ANSWERED and 0 <= g == r[_GENERATION]
                and r[_ANSWERED + api] == r[_ASKED + api]
            ):  # fmt: skip
                r[_TERM_LAST_AT] = r[_LIFE_AT] if e == _HEARTBEAT_ANSWERED else r[_COMMIT_AT]
                r[_TERM_LAST_SEQ], r[_TERM_LAST_EVENT] = seq[i], e
        elif e == _HEARTBEAT_SENT:
            arrived = r[_SOURCE] == _REFERENCE or now > r[_LOST_AT] + _IN_FLIGHT_US
            told = (
                r[_GENERATION] == _NO_GENERATION
                and (r[_SOURCE] == _REFERENCE or r[_LOST_MEMBERSHIP] == _YES)
                and arrived
            )
            if r[_LEFT] == _YES or told:
                found = _find(findings, found, i, _NO_MEMBER, 0, g, -1, state)
            elif r[_JOIN_OUT] == _YES:
                found = _find(findings, found, i, _JOINING, 0, g, -1, state)
            elif g >= 0 and g < r[_GENERATION]:
                found = _find(findings, found, i, _GENERATION_BACK, r[_GENERATION], g, -1, state)
            elif r[_MEMBER_ID] != 0 and member_id[i] != r[_MEMBER_ID]:
                found = _find(findings, found, i, _MEMBER_IDS, 0, 0, -1, state)
            r[_QUIET_AT] = now
            r[_HOLE_LIFE] = r[_HOLE_QUIET] = 0
            r[_LIFE_AT] = now
            r[_ASKED + api] += 1
        elif e == _COMMIT_SENT:
            under_way = r[_SOURCE] == _WIRE and g == r[_BEFORE]
            arrived = r[_SOURCE] == _REFERENCE or now > r[_LOST_AT] + _IN_FLIGHT_US
            if r[_LOST_MEMBERSHIP] == _YES:
                if arrived or g == _NO_GENERATION:
                    found = _find(findings, found, i, _COMMIT_NO_MEMBER, 0, g, -1, state)
            elif r[_GENERATION] != _UNKNOWN_GENERATION and g != r[_GENERATION] and not under_way:
                found = _find(findings, found, i, _COMMIT_GENERATION, r[_GENERATION], g, -1, state)
            elif g >= 0 and r[_MEMBER_ID] != 0 and member_id[i] != r[_MEMBER_ID] and not under_way:
                found = _find(findings, found, i, _MEMBER_IDS, 0, 0, -1, state)
            r[_COMMIT_AT] = now
            r[_ASKED + api] += 1
        elif e == _LEAVE_SENT:
            unasked = r[_LOST_MEMBERSHIP] == _YES or (r[_SOURCE] == _WIRE and r[_ASKED_TO_LEAVE] == _NO)
            if r[_CONFIGURED] == _YES and r[_STATIC] == _YES and unasked:
                found = _find(findings, found, i, _STATIC_LEAVE, 0, 0, -1, state)
            if r[_MEMBER_ID] != 0 and member_id[i] != r[_MEMBER_ID]:
                found = _find(findings, found, i, _MEMBER_IDS, 0, 0, -1, state)
            r[_ASKED + api] += 1
            if r[_GENERATION] >= 0 and r[_ASKED_TO_LEAVE] == _NO:
                r[_LOST_MEMBERSHIP] = _YES
                r[_LOST_AT] = now
            _lose_identity(r, True)
            r[_JOIN_OUT] = r[_SYNC_OUT] = _NO
            r[_LEFT] = _YES
        elif e == _LOOKUP_SENT:
            r[_ASKED + api] += 1
            if r[_SOURCE] == _WIRE:
                _lose_coordinator(r)
        elif e == _LOOKUP_ANSWERED:
            if error[i] == 0 and r[_COORDINATOR] == _NO:
                r[_COORDINATOR] = _YES
                r[_LIFE_AT] = r[_QUIET_AT] = now
                r[_HOLE_LIFE] = r[_HOLE_QUIET] = 0
        elif e == _COORDINATOR_LOST:
            _lose_coordinator(r)
        elif e == _SESSION_EXPIRED:
            r[_LIFE_AT] = now
            r[_HOLE_LIFE] = 0
        elif e == _UNSUBSCRIBED:
            _give_up_requests(r)
            r[_GENERATION] = r[_BEFORE] = r[_JOINED] = _UNKNOWN_GENERATION
            r[_ACTIVE] = r[_LOST_MEMBERSHIP] = _NO
            r[_ASKED_TO_LEAVE] = _YES
        elif e == _POLL_EXPIRED:
            r[_ACTIVE] = _NO
            r[_LOST_MEMBERSHIP] = _YES
            r[_LOST_AT] = now
            r[_GENERATION] = r[_BEFORE] = _UNKNOWN_GENERATION
        elif e == _CLOSED:
            _lose_identity(r, True)
            r[_LEFT] = _YES
            _release_all(r)
        elif e in (_ASSIGNED_STARTED, _ASSIGNED):
            if e == _ASSIGNED_STARTED or r[_ASSIGNING] == _NO:
                for k in range(part_start[i], part_start[i + 1]):
                    if not _take(r, parts[k], owned_by, owned, place):
                        found = _find(findings, found, i, _ASSIGNED_OWNED, 0, 0, parts[k], state)
            r[_ASSIGNING] = _YES if e == _ASSIGNED_STARTED else _NO
            if e == _ASSIGNED and r[_GENERATION] >= 0 and r[_OWNED_KNOWN] == _YES:
                for k in range(r[_OWNED_COUNT]):
                    if claimed < len(claims):
                        claims[claimed, 0] = i
                        claims[claimed, 1] = r[_GENERATION]
                        claims[claimed, 2] = owned[k]
                        claims[claimed, 3] = state
                        claims[claimed, 4] = r[_STATIC]
                    claimed += 1
        elif e in (_REVOKED_STARTED, _LOST_STARTED, _REVOKED, _LOST):
            starts = e in (_REVOKED_STARTED, _LOST_STARTED)
            if (starts or r[_RELEASING] == _NO) and r[_OWNED_KNOWN] == _YES:
                for k in range(part_start[i], part_start[i + 1]):
                    if owned_by[parts[k]] != r[_STAMP]:
                        found = _find(findings, found, i, _NOT_OWNED, 0, 0, parts[k], state)
            untrue = r[_LOST_MEMBERSHIP] == _YES and r[_SAYS_LOST] == _YES and r[_ANNOUNCED] == _NO
            if e == _REVOKED_STARTED and untrue and part_start[i + 1] > part_start[i]:
                found = _find(findings, found, i, _NOT_SAID, 0, 0, -1, state)
            r[_RELEASING] = _YES if starts else _NO
            if not starts:
                for k in range(part_start[i], part_start[i + 1]):
                    _release(r, parts[k], owned_by, owned, place)
                if e == _LOST or (r[_CONFIGURED] == _YES and r[_EAGER] == _YES):
                    _release_all(r)

        # An id that was given up, or that the coordinator does not know
        used = r[_GONE_ID] != 0 and member_id[i] == r[_GONE_ID] and api >= 0 and not answer and e != _LEAVE_SENT
        if used and found == excused and (r[_SOURCE] == _REFERENCE or now > r[_LOST_AT] + _IN_FLIGHT_US):
            found = _find(findings, found, i, _MEMBER_IDS, 0, 0, -1, state)

        # The table
        if r[_STATE] >= 0:
            symbol = symbols[e, error[i]]
            if symbol >= 0 and not late:
                after = next_state[r[_STATE], symbol]
                if after < 0:
                    if found == excused:
                        found = _find(findings, found, i, _ILLEGAL, 0, 0, -1, state)
                    after = next_state[unknown[mode], symbol]
                r[_STATE] = after
    return found, claimed, ended
