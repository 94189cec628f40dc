"""Defects: edits of recorded traces, at least one for every trace rule.

A checker that was only ever shown correct traces may find nothing at all. Each defect here takes the recording of a
group and spoils it in one place, so that exactly one rule is broken, and says which; a test applies every defect
wherever it can be applied and expects that one finding and no other. Nothing in this file knows how the checker works:
it imports only the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

from groupspec.conformance.traces.schema import Settings, TraceLine

Trace = list[TraceLine]
Group = list[Trace]
Edit = Callable[[Group], Iterator[Group]]


class Defect(NamedTuple):
    """An edit and the one rule that it breaks. `edit` yields a spoilt copy for every place where it can be applied."""

    name: str
    rule: str
    edit: Edit


_DEFECTS: list[Defect] = []


def _defect(rule: str) -> Callable[[Edit], Edit]:
    def register(edit: Edit) -> Edit:
        _DEFECTS.append(Defect(edit.__name__, rule, edit))
        return edit

    return register


# Tools
# -------------------------------------------------------------------------------------------------------------------


def _places(group: Group, *events: str) -> Iterator[tuple[int, int]]:
    for member, trace in enumerate(group):
        for place, line in enumerate(trace):
            if line.event in events:
                yield member, place


def _with(group: Group, member: int, trace: Sequence[TraceLine]) -> Group:
    return [*group[:member], list(trace), *group[member + 1 :]]


def _change(group: Group, member: int, place: int, **fields: object) -> Group:
    trace = group[member].copy()
    trace[place] = msgspec.structs.replace(trace[place], **fields)
    return _with(group, member, trace)


def _renumber(trace: Sequence[TraceLine]) -> Trace:
    return [msgspec.structs.replace(line, seq=number) for number, line in enumerate(trace)]


def _insert(group: Group, member: int, place: int, event: str, **fields: object) -> Group:
    """A new event before the one at this place, at the time of the one before it."""
    trace = group[member]
    new = msgspec.structs.replace(
        trace[place - 1],
        event=event,
        partitions=(),
        detail=msgspec.UNSET,
        error="NONE" if event.endswith("_answered") else None,
        **fields,
    )
    return _with(group, member, _renumber([*trace[:place], new, *trace[place:]]))


def _without(group: Group, member: int, places: set[int]) -> Group:
    kept = [line for place, line in enumerate(group[member]) if place not in places]
    return _with(group, member, _renumber(kept))


def _settings(trace: Trace) -> Settings:
    assert isinstance(trace[0].detail, msgspec.Raw)
    return msgspec.json.decode(trace[0].detail, type=Settings)


def _generations(trace: Trace) -> Iterator[tuple[int, int]]:
    """From where to where each generation goes on undisturbed.

    After `assigned`, to the next event that is no routine.
    """
    routine = ("poll", "heartbeat_sent", "heartbeat_answered", "commit_sent", "commit_answered")
    for place, line in enumerate(trace):
        if line.event == "assigned":
            end = place + 1
            while end < len(trace) and trace[end].event in routine and trace[end].error in (None, "NONE"):
                end += 1
            yield place + 1, end


# The recording
# -----------------------------------------------------------------------------------------------------------


@_defect("T-SEQUENCE-GAP")
def an_event_is_missing(group: Group) -> Iterator[Group]:
    """Any event but the first and the last is dropped; the numbers stay."""
    for member, trace in enumerate(group):
        for place in range(1, len(trace) - 1):
            yield _with(group, member, [*trace[:place], *trace[place + 1 :]])


@_defect("T-SEQUENCE-GAP")
def the_beginning_is_missing(group: Group) -> Iterator[Group]:
    """The recording began late."""
    for member, trace in enumerate(group):
        yield _with(group, member, trace[3:])


@_defect("T-SEQUENCE-DUPLICATE")
def an_event_is_there_twice(group: Group) -> Iterator[Group]:
    """Any event was written twice."""
    for member, trace in enumerate(group):
        for place in range(len(trace)):
            yield _with(group, member, [*trace[: place + 1], *trace[place:]])


@_defect("T-TIME-BACKWARDS")
def the_clock_steps_back(group: Group) -> Iterator[Group]:
    """An event is a microsecond earlier than the one before it."""
    for member, place in _places(group, "poll", "heartbeat_answered", "sync_answered", "revoked"):
        before = group[member][place - 1].at_us
        if before > 0:
            yield _change(group, member, place, at_us=before - 1)


@_defect("T-MIXED-PROCESSES")
def two_hosts_share_a_client_id(group: Group) -> Iterator[Group]:
    """Two processes of one client id number from 0, and do not say which is which."""
    for member, trace in enumerate(group):
        other = [msgspec.structs.replace(line, at_us=line.at_us + 1_700) for line in trace]
        yield _with(group, member, sorted([*trace, *other], key=lambda line: line.seq))


# Generations
# -------------------------------------------------------------------------------------------------------------


@_defect("T-GENERATION-BACKWARDS")
def an_old_generation_is_joined(group: Group) -> Iterator[Group]:
    """The coordinator lost its memory: from one join to the next everything has a lower generation than before."""
    if len(group) > 1:
        return  # the others would be in another generation
    for member, trace in enumerate(group):
        joins = [p for p, line in enumerate(trace) if line.event == "join_answered" and line.error == "NONE"]
        kept = [p for p in joins if not _identity_lost(trace[:p])]
        for place, before in zip(kept[1:], kept, strict=False):
            end = next((p for p in joins if p > place), len(trace))
            low = trace[before].generation - 1
            if low >= 0:
                spoilt = [
                    msgspec.structs.replace(line, generation=low) if place <= p < end and line.generation >= 0 else line
                    for p, line in enumerate(trace)
                ]
                yield _with(group, member, spoilt)


def _identity_lost(trace: Sequence[TraceLine]) -> bool:
    return any(line.event in ("poll_expired", "leave_sent") or line.error == "UNKNOWN_MEMBER_ID" for line in trace)


@_defect("T-GENERATION-BACKWARDS")
def a_heartbeat_is_of_the_generation_before(group: Group) -> Iterator[Group]:
    """One heartbeat carries the generation before the current one."""
    for member, place in _places(group, "heartbeat_sent"):
        line = group[member][place]
        if line.generation >= 1:
            yield _change(group, member, place, generation=line.generation - 1)


@_defect("T-GENERATION-JUMP")
def a_generation_is_seven_higher(group: Group) -> Iterator[Group]:
    """From one join on every generation is seven higher, although the member kept its identity."""
    for member, trace in enumerate(group):
        joins = [p for p, line in enumerate(trace) if line.event == "join_answered" and line.error == "NONE"]
        for place in joins[1:]:
            if not _identity_lost(trace[:place]):
                spoilt = [
                    msgspec.structs.replace(line, generation=line.generation + 7) if line.generation >= 0 else line
                    for line in trace[place:]
                ]
                yield _with(group, member, [*trace[:place], *spoilt])


@_defect("T-COMMIT-GENERATION")
def a_commit_is_of_the_generation_before(group: Group) -> Iterator[Group]:
    """One commit carries the generation before the current one."""
    for member, place in _places(group, "commit_sent"):
        yield _change(group, member, place, generation=group[member][place].generation - 1)


@_defect("T-COMMIT-GENERATION")
def a_commit_forgets_its_member(group: Group) -> Iterator[Group]:
    """A member of the group commits as if it were none."""
    for member, place in _places(group, "commit_sent"):
        yield _change(group, member, place, generation=-1, member_id="")


@_defect("T-COMMIT-NO-MEMBER")
def a_commit_follows_the_expulsion(group: Group) -> Iterator[Group]:
    """A commit is sent after UNKNOWN_MEMBER_ID, by nobody (as aiokafka does) or by who the member was."""
    for member, place in _places(group, "heartbeat_answered"):
        line = group[member][place]
        if line.error == "UNKNOWN_MEMBER_ID":
            yield _insert(group, member, place + 1, "commit_sent", generation=-1, member_id="")
            yield _insert(group, member, place + 1, "commit_sent", generation=line.generation)


@_defect("T-MEMBER-ID")
def a_request_names_another_member(group: Group) -> Iterator[Group]:
    """One request carries a member id that the coordinator gave to somebody else."""
    for member, place in _places(group, "heartbeat_sent", "sync_sent", "commit_sent", "leave_sent"):
        yield _change(group, member, place, member_id="somebody-else")


@_defect("T-MEMBER-ID")
def the_old_id_is_used_again(group: Group) -> Iterator[Group]:
    """After UNKNOWN_MEMBER_ID the member joins with the id that the coordinator does not know."""
    for member, trace in enumerate(group):
        for place, line in enumerate(trace):
            if line.error == "UNKNOWN_MEMBER_ID":
                again = next(p for p in range(place, len(trace)) if trace[p].event == "join_sent")
                yield _change(group, member, again, member_id=line.member_id)


@_defect("T-SYNC-GENERATION")
def a_sync_is_of_another_generation(group: Group) -> Iterator[Group]:
    """SyncGroup carries another generation than JoinGroup's answer gave."""
    for member, place in _places(group, "sync_sent"):
        for step in (-1, 1):
            yield _change(group, member, place, generation=group[member][place].generation + step)


# Heartbeats and polls
# ----------------------------------------------------------------------------------------------------


@_defect("T-HEARTBEAT-GAP")
def heartbeats_stop_for_a_session(group: Group) -> Iterator[Group]:
    """In the longest stretch of each generation no heartbeat is sent for the session timeout and a second more."""
    for member, trace in enumerate(group):
        yield from _silenced(group, member, _settings(trace).session_timeout_ms * 1000)


@_defect("T-HEARTBEAT-RARE")
def heartbeats_come_too_seldom(group: Group) -> Iterator[Group]:
    """For more than four intervals no heartbeat is sent; the session timeout is long enough for that."""
    for member, trace in enumerate(group):
        settings = _settings(trace)
        patient = msgspec.structs.replace(settings, session_timeout_ms=10 * settings.session_timeout_ms)
        slow = _change(group, member, 0, detail=msgspec.Raw(msgspec.json.encode(patient)))
        yield from _silenced(slow, member, 4 * settings.heartbeat_interval_ms * 1000)


def _silenced(group: Group, member: int, longer_us: int) -> Iterator[Group]:
    """The member without its heartbeats of such a time.

    It polls meanwhile, or its process might as well stand still.
    """
    trace = group[member]
    for start, end in _generations(trace):
        beats = [p for p in range(start, end) if trace[p].event == "heartbeat_sent"]
        for first in beats[1:]:
            sent = {p for p in beats if first <= p and trace[p].at_us - trace[first].at_us < longer_us}
            answers = {next(a for a in range(p, len(trace)) if trace[a].event == "heartbeat_answered") for p in sent}
            if max(answers) >= end:
                continue  # that answer means something
            silent = sent | answers
            last = [p for p in beats if p < first][-1]
            later = [p for p in range(last + 2, end) if p not in silent]
            lively = all(trace[q].at_us - trace[p].at_us < 2_000_000 for p, q in pairwise([last + 1, *later]))
            if lively and any(trace[p].at_us - trace[last].at_us > longer_us + 2_000_000 for p in later):
                yield _without(group, member, silent)


@_defect("T-STANDSTILL")
def the_process_is_stopped_for_a_while(group: Group) -> Iterator[Group]:
    """SIGSTOP, or a clock that is set forward.

    In a generation nothing at all happens for longer than the session timeout.
    """
    for member, trace in enumerate(group):
        step_us = _settings(trace).session_timeout_ms * 1000 + 1_000_000
        for start, end in _generations(trace):
            for place in range(start + 1, end):
                yield _with(group, member, _later(trace, place, step_us))


def _later(trace: Trace, place: int, step_us: int) -> Trace:
    """Everything from this place on so much later."""
    moved = [msgspec.structs.replace(line, at_us=line.at_us + step_us) for line in trace[place:]]
    return [*trace[:place], *moved]


@_defect("T-POLL-GAP")
def the_application_stalls_and_nobody_leaves(group: Group) -> Iterator[Group]:
    """All polls of a long generation are dropped; the heartbeats go on."""
    for member, trace in enumerate(group):
        interval_us = _settings(trace).max_poll_interval_ms * 1000
        for start, end in _generations(trace):
            polls = {p for p in range(start, end) if trace[p].event == "poll"}
            length = trace[end - 1].at_us - trace[start - 1].at_us if end > start else 0
            heartbeats = [p for p in range(start, end) if trace[p].event == "heartbeat_sent"]
            if heartbeats and length > interval_us + 3_000_000:
                yield _without(group, member, polls)


@_defect("T-HEARTBEAT-NO-MEMBER")
def a_heartbeat_follows_the_leave_group(group: Group) -> Iterator[Group]:
    """A heartbeat is sent after LeaveGroup."""
    for member, place in _places(group, "leave_answered"):
        yield _insert(group, member, place + 1, "heartbeat_sent", generation=3)


@_defect("T-HEARTBEAT-NO-MEMBER")
def a_heartbeat_follows_the_expulsion(group: Group) -> Iterator[Group]:
    """A heartbeat is sent after UNKNOWN_MEMBER_ID."""
    for member, place in _places(group, "heartbeat_answered"):
        if group[member][place].error == "UNKNOWN_MEMBER_ID":
            yield _insert(group, member, place + 1, "heartbeat_sent")


@_defect("T-HEARTBEAT-JOINING")
def a_heartbeat_is_sent_while_joining(group: Group) -> Iterator[Group]:
    """A heartbeat is sent right after JoinGroup."""
    for member, trace in enumerate(group):
        for place, line in enumerate(trace):
            if line.event == "join_sent" and line.generation >= 0:
                yield _insert(group, member, place + 1, "heartbeat_sent")


# Requests and answers
# ----------------------------------------------------------------------------------------------------


@_defect("T-TWO-JOINS")
def a_join_is_sent_twice(group: Group) -> Iterator[Group]:
    """JoinGroup is sent again before it is answered."""
    for member, place in _places(group, "join_sent"):
        yield _insert(group, member, place + 1, "join_sent")


@_defect("T-TWO-JOINS")
def a_join_is_sent_while_a_sync_is_out(group: Group) -> Iterator[Group]:
    """JoinGroup is sent before SyncGroup is answered."""
    for member, place in _places(group, "sync_sent"):
        spoilt = _insert(group, member, place + 1, "join_sent")
        yield _change(
            _insert(spoilt, member, place + 2, "join_answered"), member, place + 2, error="REBALANCE_IN_PROGRESS"
        )


@_defect("T-UNASKED-ANSWER")
def a_heartbeat_is_answered_that_was_not_sent(group: Group) -> Iterator[Group]:
    """One heartbeat has two answers."""
    for member, place in _places(group, "heartbeat_answered"):
        if group[member][place].error == "NONE":
            yield _insert(group, member, place + 1, "heartbeat_answered")


@_defect("T-STATIC-LEAVE")
def a_static_member_leaves_for_not_polling(group: Group) -> Iterator[Group]:
    """The member whose poll interval runs out, and that sends LeaveGroup for it, turns out to be a static one."""
    for member, trace in enumerate(group):
        if any(line.event == "poll_expired" for line in trace) and any(line.event == "leave_sent" for line in trace):
            settings = msgspec.structs.replace(_settings(trace), static=True)
            yield _change(group, member, 0, detail=msgspec.Raw(msgspec.json.encode(settings)))


# Partitions
# --------------------------------------------------------------------------------------------------------------


@_defect("T-ASSIGNED-OWNED")
def an_owned_partition_is_assigned_again(group: Group) -> Iterator[Group]:
    """A cooperative member is told of a partition that it kept."""
    for member, trace in enumerate(group):
        owned: set[str] = set()
        for place, line in enumerate(trace):
            if line.event == "assigned_started":
                if owned:
                    yield _change(group, member, place, partitions=(*line.partitions, min(owned)))
                owned |= set(line.partitions)
            elif line.event in ("revoked", "lost"):
                owned -= set(line.partitions)


@_defect("T-RELEASED-NOT-OWNED")
def a_foreign_partition_is_taken_away(group: Group) -> Iterator[Group]:
    """A callback takes away a partition that was never assigned."""
    for member, trace in enumerate(group):
        for place, line in enumerate(trace):
            if line.event in ("revoked_started", "lost_started"):
                both = {place, next(p for p in range(place, len(trace)) if trace[p].event in ("revoked", "lost"))}
                spoilt = [
                    msgspec.structs.replace(one, partitions=(*one.partitions, "orders-77")) if p in both else one
                    for p, one in enumerate(trace)
                ]
                yield _with(group, member, spoilt)


@_defect("T-LOST-NOT-SAID")
def what_is_lost_is_called_revoked(group: Group) -> Iterator[Group]:
    """The callback for what was lost is that for what is revoked."""
    words = {"lost_started": "revoked_started", "lost": "revoked"}
    for member, trace in enumerate(group):
        if any(line.event == "lost" for line in trace):
            spoilt = [msgspec.structs.replace(line, event=words.get(line.event, line.event)) for line in trace]
            yield _with(group, member, spoilt)


@_defect("T-TWO-OWNERS")
def a_partition_goes_to_two_members(group: Group) -> Iterator[Group]:
    """In one generation a member is assigned what another one has; it gives it back with the rest."""
    for member, trace in enumerate(group):
        for place, line in enumerate(trace):
            if line.event != "assigned_started":
                continue
            for other in group[:member] + group[member + 1 :]:
                theirs = _owned_in(other, line.generation)
                free = sorted(theirs - _owned_in(trace, line.generation))
                if free and not _owned_later(trace[place:], free[0]):
                    yield _with(group, member, _add_until_released(trace, place, free[0]))


def _owned_in(trace: Trace, generation: int) -> set[str]:
    """What the member owned when its assignment of this generation was complete."""
    owned: set[str] = set()
    for line in trace:
        if line.event == "assigned_started":
            owned |= set(line.partitions)
        elif line.event in ("revoked", "lost"):
            owned -= set(line.partitions)
        elif line.event == "assigned" and line.generation == generation:
            return owned
    return set()


def _owned_later(trace: Sequence[TraceLine], partition: str) -> bool:
    """Whether the member is assigned the partition (again) before it revokes anything."""
    generation = trace[0].generation
    for line in trace:
        if line.event in ("revoked_started", "lost_started"):
            return False
        if line.event == "assigned_started" and (partition in line.partitions or line.generation != generation):
            return True
    return False


def _add_until_released(trace: Trace, place: int, partition: str) -> Trace:
    spoilt = trace.copy()
    released = False
    for number in range(place, len(trace)):
        line = trace[number]
        first = number == place or (line.event == "assigned" and line.generation == trace[place].generation)
        if (first or line.event in ("revoked_started", "lost_started", "revoked", "lost")) and not released:
            spoilt[number] = msgspec.structs.replace(line, partitions=(*line.partitions, partition))
        released = released or line.event in ("revoked", "lost")
    return spoilt


# Transitions
# -------------------------------------------------------------------------------------------------------------


@_defect("T-ILLEGAL-TRANSITION")
def a_member_joins_before_it_polls(group: Group) -> Iterator[Group]:
    """The first poll is missing: subscribe() alone joins."""
    for member, trace in enumerate(group):
        if [line.event for line in trace[:3]] == ["config", "subscribed", "poll"]:
            yield _without(group, member, {2})


@_defect("T-ILLEGAL-TRANSITION")
def a_sync_is_sent_in_the_middle_of_a_generation(group: Group) -> Iterator[Group]:
    """SyncGroup is sent, and answered, by a member that is stable."""
    for member, trace in enumerate(group):
        for start, end in _generations(trace):
            if end > start:
                yield _insert(_insert(group, member, end, "sync_sent"), member, end + 1, "sync_answered")


@_defect("T-ILLEGAL-TRANSITION")
def an_assignment_ends_that_did_not_begin(group: Group) -> Iterator[Group]:
    """An assigned callback ends that nobody began."""
    for member, trace in enumerate(group):
        for start, end in _generations(trace):
            if end > start:
                yield _insert(group, member, end, "assigned")


@_defect("T-ILLEGAL-TRANSITION")
def partitions_are_lost_that_nobody_took(group: Group) -> Iterator[Group]:
    """A lost callback begins in a member that lost nothing."""
    for member, trace in enumerate(group):
        for start, end in _generations(trace):
            if end > start:
                yield _insert(group, member, end, "lost_started")


# The group
# ---------------------------------------------------------------------------------------------------------------


@_defect("T-STALE-ACCEPTED")
def a_zombie_is_still_heard(group: Group) -> Iterator[Group]:
    """A member never hears that the group has moved on.

    Its commits of the first generation are accepted for a minute.
    """
    for member, trace in enumerate(group):
        _, end = next(_generations(trace))
        theirs = [line.generation for other in group if other is not trace for line in other]
        if not theirs or max(theirs) <= trace[end - 1].generation or trace[end - 1].generation not in theirs:
            continue
        end -= trace[end - 1].event == "heartbeat_sent"  # its answer told of the rebalance
        last = trace[end - 1]
        commit = (("commit_sent", None), ("commit_answered", "NONE"))
        beat = (("poll", None), ("heartbeat_sent", None), ("heartbeat_answered", "NONE"), *commit)
        beats = [
            msgspec.structs.replace(
                last, event=event, error=error, at_us=last.at_us + second * 1_000_000, partitions=()
            )
            for second in range(1, 61)
            for event, error in beat
        ]
        yield _with(group, member, _renumber([*trace[:end], *beats]))


@_defect("T-MANY-REBALANCES")
def a_member_rebalances_all_the_time(group: Group) -> Iterator[Group]:
    """The way from one announced rebalance to the next is gone twelve times."""
    for member, trace in enumerate(group):
        told = [p for p, line in enumerate(trace) if line.error == "REBALANCE_IN_PROGRESS"]
        if len(group) > 1 or len(told) < 2:
            continue
        first, then = told[:2]
        period_us = trace[then].at_us - trace[first].at_us
        storm = [
            msgspec.structs.replace(
                line,
                at_us=line.at_us + turn * period_us,
                generation=line.generation + turn if line.generation >= 0 else -1,
            )
            for turn in range(12)
            for line in (trace[first:then] if turn < 11 else trace[first:])
        ]
        yield _with(group, member, _renumber([*trace[:first], *storm]))


@_defect("T-LONG-JOIN")
def a_join_is_answered_late(group: Group) -> Iterator[Group]:
    """JoinGroup is answered after more than the poll interval."""
    for member, trace in enumerate(group):
        for place, line in enumerate(trace):
            if line.event == "join_answered" and line.error == "NONE":
                yield _with(group, member, _later(trace, place, _settings(trace).max_poll_interval_ms * 1000 + 1_000))


DEFECTS: Final[tuple[Defect, ...]] = tuple(_DEFECTS)
