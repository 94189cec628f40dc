"""What the columnar checker remembers of a member between two events: one record of integers, and how it changes.

A table can hold which transition is possible; it cannot hold clocks, generations and counts. Those are here. A record
of integers, because the columnar checker that reads it is compiled, and because it is carried from batch to batch.

Three-valued registers say UNKNOWN after a gap in the trace: what is not known is not judged.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt
from numba.core import caching

from groupspec.conformance import bounds
from groupspec.conformance.traces import schema, trace_rules
from groupspec.conformance.traces.caching import cache_folder, digest, is_private

Ints = npt.NDArray[np.int64]

NO: Final = 0
YES: Final = 1
UNKNOWN: Final = 2

NO_GENERATION: Final = -1
UNKNOWN_GENERATION: Final = -2

GRACE_US: Final = 1_000_000
"""How late a member may notice that its poll interval ran out: threads are scheduled late."""

NOT_BEFORE_THE_NEXT_US: Final = 2**62
"""Where the heartbeat gap counts from once it was reported: one silence is one finding."""

REBALANCES_OF_A_STORM: Final = 10
STORM_US: Final = 600_000_000
"""So many rebalances of one member within ten minutes are worth a notice. No rule forbids them."""

APIS: Final = ("join", "sync", "heartbeat", "leave", "commit", "lookup")

MEMBER: Final = np.dtype(
    [
        ("state", "i8"),  # state of the projected rebalance table; -1: not judged
        ("last_seq", "i8"),
        ("last_at", "i8"),  # the time of the event before
        ("now", "i8"),  # the time of this event
        ("source", "i8"),
        ("configured", "i8"),  # the settings below are known
        ("session_us", "i8"),
        ("poll_us", "i8"),
        ("static", "i8"),
        ("eager", "i8"),
        ("generation", "i8"),  # of the last accepted join; NO_GENERATION, UNKNOWN_GENERATION
        ("generation_before", "i8"),
        ("joined", "i8"),  # generation that SyncGroup must carry
        ("active", "i8"),  # in a generation: heartbeats and polls are due
        ("life_at", "i8"),  # since when the heartbeat gap counts
        ("poll_at", "i8"),
        ("poll_seen", "i8"),  # YES: the poll gap counts
        ("coordinator", "i8"),  # NO: it was lost, no heartbeat can be sent
        ("join_out", "i8"),
        ("sync_out", "i8"),
        ("left", "i8"),
        ("owned_known", "i8"),
        ("releasing", "i8"),  # revoked_started or lost_started was seen, its end is due
        ("assigning", "i8"),
        ("owned_count", "i8"),
        ("asked", "i8", len(APIS)),  # six counters, one for each of APIS; then six for the answers
        ("answered", "i8", len(APIS)),
        ("bound_us", "i8"),  # how far apart heartbeats may be; 0: not judged
        ("says_lost", "i8"),  # the client has a callback of its own for lost partitions
        ("quiet_at", "i8"),  # since when the next heartbeat is waited for
        ("throttled_to", "i8"),  # until when nothing may be sent to the coordinator
        ("hole_life", "i8"),  # the longest time without any event since LIFE_AT, QUIET_AT, POLL_AT
        ("hole_quiet", "i8"),
        ("hole_poll", "i8"),
        ("mixed", "i8"),  # several processes under one name: nothing is judged
        ("member_id", "i8"),  # a number for the id that the coordinator gave; 0: none, or not known
        ("gone_id", "i8"),  # the one that was given up, or that the coordinator does not know any more
        ("lost", "i8"),  # the membership ended without the application's will, and has not begun anew
        ("lost_at", "i8"),
        ("announced", "i8"),  # a rebalance was announced: a revoked callback may be under way
        ("asked_to_leave", "i8"),
        ("joins", "i8"),  # JoinGroups since the last accepted one
        ("join_at", "i8"),  # when the last JoinGroup was sent
        ("term_at", "i8"),  # when the generation was joined; the row of `terms` that is being written
        ("term_waited", "i8"),
        ("term_together", "i8"),  # NO: the answer may have come later than the others'
        ("term_last_at", "i8"),  # when its last SyncGroup or commit was sent that was accepted; -1: none
        ("term_last_seq", "i8"),
        ("term_synced", "i8"),
        ("commit_at", "i8"),  # when the last commit was sent
        ("term_generation", "i8"),
        ("term_seq", "i8"),  # of the JoinGroup's answer
        ("term_last_event", "i8"),
        ("process", "i8"),  # how many processes there were before this one
    ]
)

# The row at which a generation ended, whether it is of the member before that row, and the fields of
# `group_checks.Term` but the first.
TERM_COLUMNS: Final = 15

_MADE_FROM: Final = (bounds.__file__, schema.__file__, Path(trace_rules.__file__).with_suffix(".toml"), __file__)
_numba: Final[Any] = numba.config
_KEPT_IN: Final = Path(_numba.CACHE_DIR or cache_folder()) / f"columnar-{digest(*_MADE_FROM)}"


def compiled(function: Callable[..., Any]) -> Any:
    """The function as machine code, compiled once a machine.

    What numba keeps it makes anew when the function's own file changes; what the function takes from other files are
    constants to it. Their content is therefore part of the folder's name.
    """
    made: Any = numba.njit(nogil=True)(function)
    if not is_private(_KEPT_IN):
        return made
    others, _numba.CACHE_DIR = _numba.CACHE_DIR, str(_KEPT_IN)
    try:
        made._cache = _Kept(function)
    finally:
        _numba.CACHE_DIR = others
    return made


_Cache: Any = caching.FunctionCache


class _Kept(_Cache):  # type: ignore[misc]
    """Numba's cache, but what cannot be read is made anew: a full disk leaves half a file, and that for good."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """None where there is nothing to load."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever pickle makes of half a file
            self.flush()
            return None


class Carry:
    """What goes from one batch to the next: the member's record, and the partitions that it owns."""

    def __init__(self) -> None:
        self.registers = np.zeros(MEMBER.itemsize // 8, np.int64)
        self.registers.view(MEMBER)["term_at"] = -1
        self.owned = np.zeros(0, np.int64)

    def make_room(self, partitions: int) -> None:
        """Room for so many different partitions."""
        if (missing := partitions - len(self.owned)) > 0:
            self.owned = np.append(self.owned, np.zeros(max(missing, len(self.owned)), np.int64))

    def last_term(self) -> list[int] | None:
        """The last member's generation when its trace ended: the columns of `terms` after the first two."""
        terms = np.zeros((1, TERM_COLUMNS), np.int64)
        ended = end_term(self.registers.copy().view(MEMBER)[0], terms, 0, 0, 0)
        return [int(value) for value in terms[0, 2:]] if ended else None


@compiled
def restart(r):  # type: ignore[no-untyped-def]
    """A new incarnation: a process of this client id that has just started."""
    r.generation = r.generation_before = r.joined = NO_GENERATION
    r.active = r.join_out = r.sync_out = r.left = r.poll_seen = NO
    r.life_at = r.poll_at = r.quiet_at = r.now
    r.throttled_to = 0
    r.hole_life = r.hole_poll = r.hole_quiet = 0
    r.member_id = r.gone_id = r.joins = 0
    r.lost = r.announced = r.asked_to_leave = NO
    r.term_at = -1
    r.coordinator = r.owned_known = YES
    r.releasing = r.assigning = NO
    r.owned_count = 0
    r.asked[:] = 0
    r.answered[:] = 0


@compiled
def forget(r, missing, mode, unknown):  # type: ignore[no-untyped-def]
    """After a gap nothing is known but the settings."""
    r.generation = r.generation_before = r.joined = UNKNOWN_GENERATION
    r.active = r.left = r.poll_seen = NO
    r.lost = NO
    r.member_id = r.gone_id = 0
    r.joins += missing
    r.asked_to_leave = r.announced = UNKNOWN
    r.join_out = r.sync_out = UNKNOWN
    r.coordinator = YES
    r.owned_known = r.releasing = r.assigning = NO
    r.owned_count = 0
    r.asked[:] += missing
    if r.state >= 0:
        r.state = unknown[mode]


@compiled
def lose_identity(r, id_too):  # type: ignore[no-untyped-def]
    """The generation ends, and the member id with it if `id_too`."""
    r.generation = r.generation_before = r.joined = NO_GENERATION
    r.active = NO
    if id_too and r.member_id != 0:
        r.gone_id = r.member_id
        r.member_id = 0
        r.lost_at = r.now


@compiled
def be_expelled(r, unknown_member):  # type: ignore[no-untyped-def]
    """The coordinator says that the member is none of the group, or not of this generation."""
    if r.generation >= 0 and r.asked_to_leave == NO:
        r.lost = YES
        r.lost_at = r.now
    lose_identity(r, unknown_member)


@compiled
def end_term(r, terms, count, row, before):  # type: ignore[no-untyped-def]
    """Writes down the generation that ends here, if the member was in one."""
    if r.term_at < 0:
        return count
    terms[count, :] = (
        row, before, r.term_generation, r.term_at, r.term_seq, r.term_waited, r.term_together, r.term_synced,
        r.term_last_at, r.term_last_seq, r.term_last_event, r.static, r.session_us, r.poll_us, r.process,
    )  # fmt: skip
    r.term_at = -1
    return count + 1


@compiled
def lose_coordinator(r):  # type: ignore[no-untyped-def]
    """No heartbeat can be sent, and what was asked may not be answered."""
    r.coordinator = NO
    give_up_requests(r)


@compiled
def set_clocks_back(r, step_us):  # type: ignore[no-untyped-def]
    """What had begun began so much earlier."""
    r.life_at -= step_us
    r.poll_at -= step_us
    r.quiet_at -= step_us
    r.throttled_to -= step_us
    r.lost_at -= step_us
    r.join_at -= step_us
    r.commit_at -= step_us
    r.term_at = -1


@compiled
def give_up_requests(r):  # type: ignore[no-untyped-def]
    """An answer to a JoinGroup or SyncGroup that is out may come or not."""
    if r.join_out != NO:
        r.join_out = UNKNOWN
    if r.sync_out != NO:
        r.sync_out = UNKNOWN


@compiled
def place_of(r, p, owned):  # type: ignore[no-untyped-def]
    """Where a partition stands among the owned; -1: nowhere. A member owns few: a search is enough."""
    for place in range(r.owned_count):
        if owned[place] == p:
            return place
    return -1


@compiled
def take(r, p, owned):  # type: ignore[no-untyped-def]
    """Adds a partition to the owned; False if it was there."""
    if place_of(r, p, owned) >= 0:
        return False
    owned[r.owned_count] = p
    r.owned_count += 1
    return True


@compiled
def release(r, p, owned):  # type: ignore[no-untyped-def]
    """Takes a partition from the owned, if it is there."""
    place = place_of(r, p, owned)
    if place >= 0:
        r.owned_count -= 1
        owned[place] = owned[r.owned_count]


@compiled
def release_all(r):  # type: ignore[no-untyped-def]
    """Nothing is owned, and that is known."""
    r.owned_count = 0
    r.owned_known = YES
