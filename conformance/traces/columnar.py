"""The columnar checker: all trace rules over columns of integers, compiled, member after member, batch after batch.

`judge` reads a batch (rows in the layout's order) and goes on where the batch before ended: the registers, the owned
partitions and the state of the projected rebalance table are carried in `registers.Carry`. So a member, or a group, may
be spread over any number of batches; a checker that began anew with each batch would report what no member did.

The loop is one function because it is one pass over the data. It says the same as `tests/reference_checker.py`, rule
for rule and in the same order; read that file to understand a rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

import numpy as np

from groupspec.conformance.bounds import IN_FLIGHT_US
from groupspec.conformance.traces import registers
from groupspec.conformance.traces.registers import MEMBER, NO, NO_GENERATION, UNKNOWN, UNKNOWN_GENERATION, YES, compiled
from groupspec.conformance.traces.schema import ERROR_CODES, EVENT_CODES, SOURCE_CODES
from groupspec.conformance.traces.trace_rules import CODES

FINDING_COLUMNS: Final = 6  # row, rule, a, b, partition (-1: none), state before
CLAIM_COLUMNS: Final = 5  # row, generation, partition, state before, static
# eager, session timeout and poll interval in us, static, heartbeat bound in us, two of the listener
SETTING_COLUMNS: Final = 7
MOST_FINDINGS: Final = 16
"""More than one event can bring about, those about its partitions left out."""

_WIRE: Final = SOURCE_CODES["wire"]
_REFERENCE: Final = SOURCE_CODES["reference"]


def _constants(codes: Mapping[str, int]) -> Any:
    """Numbers by name, `T-TWO-JOINS` as TWO_JOINS; the compiler takes members of an enumeration as constants."""
    return IntEnum("Codes", {name.removeprefix("T-").replace("-", "_").upper(): code for name, code in codes.items()})


Event, Error, Rule = _constants(EVENT_CODES), _constants(ERROR_CODES), _constants(CODES)
_HEARTBEAT = registers.APIS.index("heartbeat")
# By event: the number of its API, -1 if it is no request and no answer; and whether it is an answer.
_API = np.array(
    [registers.APIS.index(api) if (api := event.partition("_")[0]) in registers.APIS else -1 for event in EVENT_CODES]
)
_IS_ANSWER = np.array([event.endswith("_answered") for event in EVENT_CODES])


@compiled
def _find(findings, count, row, rule, a, b, partition, state):  # type: ignore[no-untyped-def]
    findings[count, :] = (row, rule.value, a, b, partition, state)
    return count + 1


@compiled
def judge(  # type: ignore[no-untyped-def]
    first, begins, repeats, seq, at_us, source, event, error, generation, member_id, said_late, throttle_us, part_start,
    parts, setting, settings, carried, owned, symbols, next_state, start, unknown, findings, claims, terms,
):  # fmt: skip
    """Judges the rows of a batch from `first` on, as far as there is room for what it finds.

    Returns the row that comes next, and how many findings, claims and terms there are. `carried` and `owned` are
    changed in place.
    """
    r = carried.view(MEMBER)[0]
    found = 0
    claimed = 0
    ended = 0
    for i in range(first, len(seq)):
        named = part_start[i + 1] - part_start[i]
        if claimed + r.owned_count + named > len(claims) or found + MOST_FINDINGS + named > len(findings):
            return i, found, claimed, ended
        if begins[i]:
            ended = registers.end_term(r, terms, ended, i, 1)
            carried[:] = 0
            r.state = r.last_seq = r.source = -1
            registers.restart(r)
        elif r.mixed == YES:
            continue
        e = event[i]
        at = at_us[i]
        mode = r.source * 2 + 1 - r.eager
        state = r.state
        g = generation[i]

        # The numbers, and the time
        if seq[i] <= r.last_seq:
            if repeats[i]:
                found = _find(findings, found, i, Rule.SEQUENCE_DUPLICATE, 0, seq[i], -1, state)
            else:
                found = _find(findings, found, i, Rule.MIXED_PROCESSES, 0, seq[i], -1, state)
                r.mixed = YES
                r.term_at = -1
            continue
        if seq[i] != r.last_seq + 1:
            found = _find(findings, found, i, Rule.SEQUENCE_GAP, r.last_seq + 1, seq[i], -1, state)
            registers.forget(r, seq[i] - r.last_seq - 1, mode, unknown)
        r.last_seq = seq[i]
        if e == Event.CONFIG:
            ended = registers.end_term(r, terms, ended, i, 0)
            r.last_at = at  # another process, another clock
        elif at < r.last_at:
            found = _find(findings, found, i, Rule.TIME_BACKWARDS, r.last_at, at, -1, state)
            registers.set_clocks_back(r, r.last_at - at)
        passed = at - r.last_at
        r.last_at = r.now = now = at
        excused = found  # findings up to here do not explain an illegal transition

        # Silence; the process that is silent from now on is not the one that was before a `config`
        if r.configured and r.active and e != Event.CONFIG:
            may_send = now - r.throttled_to
            r.hole_life = max(r.hole_life, min(passed, may_send))
            r.hole_quiet = max(r.hole_quiet, min(passed, may_send))
            r.hole_poll = max(r.hole_poll, passed)
            session, interval, bound = r.session_us, r.poll_us, r.bound_us
            unpolled = now - r.poll_at
            poll_over = r.poll_seen == YES and interval > 0 and unpolled > interval
            silent = min(now - r.life_at, may_send)
            stood = session > 0 and passed > session
            due = r.coordinator == YES and not poll_over
            if stood:
                found = _find(findings, found, i, Rule.STANDSTILL, 0, passed // 1000, -1, state)
                r.term_at = -1  # its clock may have been set: not to be compared
            if session > 0 and due and silent - (r.hole_life if r.hole_life > session else 0) > session:
                found = _find(findings, found, i, Rule.HEARTBEAT_GAP, session, silent, -1, state)
                r.life_at = r.quiet_at = registers.NOT_BEFORE_THE_NEXT_US
            quiet = min(now - r.quiet_at, may_send)
            none_out = r.answered[_HEARTBEAT] >= r.asked[_HEARTBEAT]
            least = min(bound, session) if session > 0 else bound
            if bound > 0 and due and none_out and quiet - (r.hole_quiet if r.hole_quiet > least else 0) > bound:
                found = _find(findings, found, i, Rule.HEARTBEAT_RARE, bound, quiet, -1, state)
                r.quiet_at = registers.NOT_BEFORE_THE_NEXT_US
            shows = not (r.source == _WIRE and r.static == YES)
            judged = (e == Event.HEARTBEAT_SENT or (e == Event.POLL and shows)) and may_send > registers.GRACE_US
            hole = r.hole_poll if session > 0 and r.hole_poll > session else 0
            if judged and poll_over and r.coordinator == YES and unpolled - hole > interval + registers.GRACE_US:
                found = _find(findings, found, i, Rule.POLL_GAP, interval // 1000, unpolled // 1000, -1, state)
                r.poll_seen = NO
            excused = found  # nor does silence

        if throttle_us[i] > 0:
            r.throttled_to = max(r.throttled_to, now + throttle_us[i])
            r.hole_life = r.hole_quiet = 0

        # An answer to a request of another generation is late, one of none is not the group's: the table hears
        # of neither
        late = said_late[i] == YES
        if said_late[i] == UNKNOWN and e in (Event.HEARTBEAT_ANSWERED, Event.COMMIT_ANSWERED):
            late = g == NO_GENERATION or g != r.generation

        # Requests and answers are counted
        api = _API[e]
        answer = _IS_ANSWER[e]
        if answer and error[i] != Error.DISCONNECTED and error[i] != Error.TIMED_OUT:
            r.answered[api] += 1
            if r.answered[api] > r.asked[api]:
                found = _find(findings, found, i, Rule.UNASKED_ANSWER, r.asked[api], r.answered[api], -1, state)
                r.answered[api] = r.asked[api]

        # What each event changes
        expelled = (
            error[i] == Error.UNKNOWN_MEMBER_ID
            or error[i] == Error.ILLEGAL_GENERATION
            or error[i] == Error.FENCED_INSTANCE_ID
        )
        if e == Event.CONFIG:
            k = setting[i]
            r.source = source[i]
            r.configured = YES
            r.eager, r.session_us, r.poll_us, r.static = settings[k, :4]
            r.bound_us, r.says_lost = settings[k, 4:6]
            r.process += 1
            registers.restart(r)
            mode = r.source * 2 + 1 - r.eager
            r.state = start[mode] if settings[k, 6] == YES else -1
        elif e == Event.POLL:
            r.poll_at = now
            r.hole_poll = 0
            r.poll_seen = YES
        elif e == Event.SUBSCRIBED:
            r.asked_to_leave = NO
        elif e == Event.JOIN_SENT:
            if r.join_out == YES or r.sync_out == YES:
                found = _find(findings, found, i, Rule.TWO_JOINS, 0, 0, -1, state)
            r.join_out = YES
            r.sync_out = r.active = NO
            r.asked[api] += 1
            r.joins += 1
            r.join_at = now
        elif e == Event.JOIN_ANSWERED and not late:
            waited_for = r.join_out
            r.join_out = NO
            if waited_for != NO and error[i] == 0:
                if g < r.generation:
                    found = _find(findings, found, i, Rule.GENERATION_BACKWARDS, r.generation, g, -1, state)
                elif r.generation >= 0 and waited_for == YES and r.static == NO and g > r.generation + r.joins:
                    found = _find(findings, found, i, Rule.GENERATION_JUMP, r.generation, g, -1, state)
                # what a coordinator has forgotten may come back
                r.joins = r.joins + r.generation - g if g < r.generation else 0
                ended = registers.end_term(r, terms, ended, i, 0)
                r.generation_before = r.generation
                r.generation = r.joined = r.term_generation = g
                r.active = YES
                r.left = r.lost = r.announced = NO
                r.life_at = r.poll_at = r.quiet_at = r.term_at = now
                r.hole_life = r.hole_poll = r.hole_quiet = 0
                r.term_waited = now - r.join_at if waited_for == YES else 0
                at_once = g == r.generation_before  # a follower of a Stable group is told again what it knows
                r.term_together = YES if waited_for == YES and r.answered[api] == r.asked[api] and not at_once else NO
                r.term_seq = seq[i]
                r.term_last_at = r.term_last_seq = -1
                r.term_synced = NO
                r.member_id = member_id[i]
                r.gone_id = 0
            elif waited_for != NO and error[i] == Error.MEMBER_ID_REQUIRED:
                r.member_id = member_id[i]
                r.gone_id = 0
            elif waited_for != NO and expelled:
                registers.be_expelled(r, error[i] == Error.UNKNOWN_MEMBER_ID)
        elif e == Event.SYNC_SENT:
            if r.joined >= 0 and g != r.joined:
                found = _find(findings, found, i, Rule.SYNC_GENERATION, r.joined, g, -1, state)
            elif r.member_id != 0 and member_id[i] != r.member_id:
                found = _find(findings, found, i, Rule.MEMBER_ID, 0, 0, -1, state)
            r.sync_out = YES
            r.generation_before = r.generation
            r.asked[api] += 1
        elif e in (Event.SYNC_ANSWERED, Event.HEARTBEAT_ANSWERED, Event.COMMIT_ANSWERED):
            if e == Event.SYNC_ANSWERED:
                r.sync_out = NO
            if e == Event.HEARTBEAT_ANSWERED:
                r.quiet_at = now
                r.hole_quiet = 0
            # A commit that is refused ends the generation that it was sent in, also while a JoinGroup is out: Kafka
            # ConsumerCoordinator, OffsetCommitResponseHandler, spares who has another one by now (generationUnchanged)
            # and prepares the next. The reference leaves both to the answer of its JoinGroup or SyncGroup, as its table
            # does (a commit's answer is late there); who does so on the wire may use its member id again.
            in_round = e == Event.COMMIT_ANSWERED and (r.join_out == YES or r.sync_out == YES)
            spared = in_round and (r.source == _REFERENCE or g != r.generation)
            mine = g == r.generation or g == NO_GENERATION
            if expelled and mine and said_late[i] != YES and not spared:
                registers.be_expelled(r, error[i] == Error.UNKNOWN_MEMBER_ID and not in_round)
            elif error[i] == Error.REBALANCE_IN_PROGRESS:
                r.announced = YES
            elif e == Event.HEARTBEAT_ANSWERED:
                pass  # a coordinator that still loads the group answers each with NONE
            elif error[i] == 0 and 0 <= g == r.generation and r.answered[api] == r.asked[api]:
                if e == Event.SYNC_ANSWERED:
                    r.term_last_at = max(r.term_last_at, r.term_at)  # sent as soon as JoinGroup was answered
                    r.term_synced = YES
                else:
                    r.term_last_at = r.commit_at
                r.term_last_seq, r.term_last_event = seq[i], e
        elif e == Event.HEARTBEAT_SENT:
            arrived = r.source == _REFERENCE or now > r.lost_at + IN_FLIGHT_US
            told = r.generation == NO_GENERATION and (r.source == _REFERENCE or r.lost == YES) and arrived
            if r.left == YES or told:
                found = _find(findings, found, i, Rule.HEARTBEAT_NO_MEMBER, 0, g, -1, state)
            elif r.join_out == YES:
                found = _find(findings, found, i, Rule.HEARTBEAT_JOINING, 0, g, -1, state)
            elif g >= 0 and g < r.generation:
                found = _find(findings, found, i, Rule.GENERATION_BACKWARDS, r.generation, g, -1, state)
            elif r.member_id != 0 and member_id[i] != r.member_id:
                found = _find(findings, found, i, Rule.MEMBER_ID, 0, 0, -1, state)
            r.quiet_at = now
            r.hole_life = r.hole_quiet = 0
            r.life_at = now
            r.asked[api] += 1
        elif e == Event.COMMIT_SENT:
            under_way = r.source == _WIRE and g == r.generation_before
            arrived = r.source == _REFERENCE or now > r.lost_at + IN_FLIGHT_US
            if r.lost == YES:
                if arrived or g == NO_GENERATION or (r.source == _WIRE and member_id[i] == 0):
                    found = _find(findings, found, i, Rule.COMMIT_NO_MEMBER, 0, g, -1, state)
            elif r.generation != UNKNOWN_GENERATION and g != r.generation and not under_way:
                found = _find(findings, found, i, Rule.COMMIT_GENERATION, r.generation, g, -1, state)
            elif g >= 0 and r.member_id != 0 and member_id[i] != r.member_id and not under_way:
                found = _find(findings, found, i, Rule.MEMBER_ID, 0, 0, -1, state)
            r.commit_at = now
            r.asked[api] += 1
        elif e == Event.LEAVE_SENT:
            unasked = r.lost == YES or (r.source == _WIRE and r.asked_to_leave == NO)
            if r.configured == YES and r.static == YES and unasked:
                found = _find(findings, found, i, Rule.STATIC_LEAVE, 0, 0, -1, state)
            if r.member_id != 0 and member_id[i] != r.member_id:
                found = _find(findings, found, i, Rule.MEMBER_ID, 0, 0, -1, state)
            r.asked[api] += 1
            if r.generation >= 0 and r.asked_to_leave == NO:
                r.lost = YES
                r.lost_at = now
            registers.lose_identity(r, True)
            r.join_out = r.sync_out = NO
            r.left = YES
        elif e == Event.LOOKUP_SENT:
            r.asked[api] += 1
            if r.source == _WIRE:
                registers.lose_coordinator(r)
        elif e == Event.LOOKUP_ANSWERED:
            if error[i] == 0 and r.coordinator == NO:
                r.coordinator = YES
                r.life_at = r.quiet_at = now
                r.hole_life = r.hole_quiet = 0
        elif e == Event.COORDINATOR_LOST:
            registers.lose_coordinator(r)
        elif e == Event.SESSION_EXPIRED:
            r.life_at = now
            r.hole_life = 0
        elif e == Event.UNSUBSCRIBED:
            registers.give_up_requests(r)
            r.generation = r.generation_before = r.joined = UNKNOWN_GENERATION
            r.active = r.lost = NO
            r.asked_to_leave = YES
        elif e == Event.POLL_EXPIRED:
            registers.give_up_requests(r)
            r.active = NO
            r.lost = YES
            r.lost_at = now
            r.generation = r.generation_before = UNKNOWN_GENERATION
        elif e == Event.CLOSED:
            registers.lose_identity(r, True)
            r.left = YES
            registers.release_all(r)
        elif e in (Event.ASSIGNED_STARTED, Event.ASSIGNED):
            if e == Event.ASSIGNED_STARTED or r.assigning == NO:
                for k in range(part_start[i], part_start[i + 1]):
                    if not registers.take(r, parts[k], owned):
                        found = _find(findings, found, i, Rule.ASSIGNED_OWNED, 0, 0, parts[k], state)
            r.assigning = YES if e == Event.ASSIGNED_STARTED else NO
            if e == Event.ASSIGNED and r.generation >= 0 and r.owned_known == YES:
                for k in range(r.owned_count):
                    claims[claimed, :] = (i, r.generation, owned[k], state, r.static)
                    claimed += 1
        elif e in (Event.REVOKED_STARTED, Event.LOST_STARTED, Event.REVOKED, Event.LOST):
            starts = e in (Event.REVOKED_STARTED, Event.LOST_STARTED)
            if (starts or r.releasing == NO) and r.owned_known == YES:
                for k in range(part_start[i], part_start[i + 1]):
                    if registers.place_of(r, parts[k], owned) < 0:
                        found = _find(findings, found, i, Rule.RELEASED_NOT_OWNED, 0, 0, parts[k], state)
            untrue = r.lost == YES and r.says_lost == YES and r.announced == NO
            if e == Event.REVOKED_STARTED and untrue and named > 0:
                found = _find(findings, found, i, Rule.LOST_NOT_SAID, 0, 0, -1, state)
            r.releasing = YES if starts else NO
            if not starts:
                for k in range(part_start[i], part_start[i + 1]):
                    registers.release(r, parts[k], owned)
                # Of what an eager member had before the trace began nothing is left, too
                if e == Event.LOST or (r.configured == YES and r.eager == YES and r.owned_known != YES):
                    registers.release_all(r)

        # An id that was given up, or that the coordinator does not know; FindCoordinator carries none
        carries = api >= 0 and not answer and e not in (Event.LEAVE_SENT, Event.LOOKUP_SENT)
        used = carries and r.gone_id != 0 and member_id[i] == r.gone_id
        if used and found == excused and (r.source == _REFERENCE or now > r.lost_at + IN_FLIGHT_US):
            found = _find(findings, found, i, Rule.MEMBER_ID, 0, 0, -1, state)

        # The table
        if r.state >= 0:
            symbol = symbols[e, error[i]]
            if symbol >= 0 and not late:
                after = next_state[r.state, symbol]
                if after < 0:
                    if found == excused:
                        found = _find(findings, found, i, Rule.ILLEGAL_TRANSITION, 0, 0, -1, state)
                    after = next_state[unknown[mode], symbol]
                r.state = after
    return len(seq), found, claimed, ended
