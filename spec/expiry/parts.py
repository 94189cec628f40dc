"""Who runs a clock: members, wires and coordinators, one automaton for each.

The limits are parameters, all in whole milliseconds:

    interval        heartbeat.interval.ms
    session         session.timeout.ms
    max_poll        max.poll.interval.ms, which is also the rebalance timeout that a member sends with JoinGroup v1
    backoff         retry.backoff.ms
    request         request.timeout.ms
    latency         the longest from sending a request until its answer is there; the broker has it somewhere in between
    granularity     how late the member may look at a clock that is due. A loop that sleeps for retry.backoff.ms when
                    nothing is due, as the heartbeat thread of the articles does, has granularity = backoff; one that
                    is woken by the next deadline has 0
    processing      the longest from one poll() to the next
    callback        the longest that the application's revocation callback and the commit before it take
    assignment      the longest that a leader computes
    lookup          the longest that finding the coordinator anew takes

What a limit of the *network* or the *application* bounds may always be shorter, down to nothing. What a *timeout*
bounds is exact, but for the two arithmetics: `expired(clock, limit)` is `clock >= limit` or `clock > limit`.

    who                     sees                                        decides
    heartbeat thread        its own clock since the last heartbeat      when to send the next
    wire                    nothing                                     when the broker has it, when the answer is there
    coordinator, session    heartbeats as they arrive                   that the member is dead
    coordinator, round      the first join of a rebalance               that who has not joined is out
    application             nothing                                     when to call poll()
    member, poll interval   calls of poll()                             to leave the group

Two things that look alike are kept apart on purpose: the session clock of the coordinator, which starts when a
heartbeat *arrives*, and the member's own, which starts when its answer *arrives*. The whole arithmetic of KIP-62 hangs
on who can see what when.

Sources: KIP-62, 'Proposed Changes'; Kafka AbstractCoordinator.HeartbeatThread, Heartbeat and Timer (0.10 to 4.0);
coordinator: ClassicGroup, GroupMetadataManager (4.0); rules H1, H2, H5, H7, P1, P2, G1, G5, G6, G9.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from groupspec.spec.datafile import Record, read_entries
from groupspec.spec.expiry.automata import Edge, Part
from groupspec.spec.problems import DataError

_EDGE: Final = re.compile(r"(\w+) -> (\w+): (\w+)(?: if ([^;]+))?(?:; restart (\w+(?:, \w+)*))?")


class StatedPart(Record, frozen=True):
    """A part as the file has it; `automata.Part` says what it is."""

    id: str
    name: str
    edges: tuple[str, ...]
    places: dict[str, str] = {}
    like: str = ""
    without: tuple[str, ...] = ()


_STATED: Final = read_entries(Path(__file__).with_suffix(".toml"), StatedPart)


@cache
def part(named: str) -> Part:
    """The part that a theorem names: its id, and its arguments.

    Raises:
        DataError: there is no such part, or an edge of it cannot be read.
    """
    identifier, *arguments = named.split()
    if identifier not in _STATED:
        raise DataError("spec/expiry/theorems.toml", f"no part {identifier!r}; parts.toml has {', '.join(_STATED)}")
    stated = _STATED[identifier]
    base = part(stated.like) if stated.like else Part("", {}, ())
    inherited = [edge for edge in base.edges if edge.action not in stated.without]
    places = {place: _all(text, arguments) for place, text in stated.places.items()}
    edges = tuple(_edge(identifier, text, arguments) for text in stated.edges)
    return Part(stated.name.format(*arguments), {**base.places, **places}, (*inherited, *edges))


def _edge(identifier: str, text: str, arguments: list[str]) -> Edge:
    read = _EDGE.fullmatch(text.replace(": {}", f": {arguments[0]}") if arguments else text)
    if read is None:
        what = f"{text!r} is no `SOURCE -> TARGET: action if guard and guard; restart clock, clock`"
        raise DataError("spec/expiry/parts.toml", f"[{identifier}]: {what}")
    source, target, action, guards, clocks = read.groups(default="")
    return Edge(source, action, target, _all(guards, arguments), tuple(clocks.split(", ")) if clocks else ())


def _all(guards: str, arguments: list[str]) -> tuple[str, ...]:
    """The guards of a text, one that has `{}` once for each argument."""
    said = guards.split(" and ") if guards else []
    return tuple(each.format(one) for each in said for one in (arguments if "{}" in each else [""]))
