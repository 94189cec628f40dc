"""The cases of a broker that nobody scripts: a plain life there, and what only passes by. What of it can be judged.

In a *plain life* the client stands behind its harness, and all is known of it but what a script would know. Of a client
that is only *watched* the harness's events are missing, and so are its settings, save those that JoinGroup tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from groupspec.conformance.checks import CHECKERS
from groupspec.conformance.wire.case import Case, Scenario, Variant
from groupspec.spec.consumer_protocol import CONSUMER_PROTOCOL
from groupspec.spec.rules import RULES

Rebalance = Literal["eager", "cooperative"]
Group = Literal["eager", "cooperative", "consumer"]
"""How a group is led: a classic one, by either protocol, or a consumer group (KIP-848)."""
REBALANCES: Final[tuple[Rebalance, ...]] = ("eager", "cooperative")
FIRST: Final = Variant("first", poll_ms=100, auto_commit_interval_ms=4_000)
SECOND: Final = Variant("second", poll_ms=100, auto_commit=False)
SESSION_MS: Final = 10_000
"""As session timeout and poll interval; a broker's own lower limit is 6,000 ms, if nobody has changed it."""
HEARTBEAT_MS: Final = 200
_SCRIPTED: Final = "a scripted broker makes one: `groupspec conform CLIENT`"
_OFFERED: Final = frozenset(REBALANCES)

# Rules that stand on more than the wire, though their checkers can read it alone.
_POLLS: Final = "when the application polls is not on the wire; a harness tells it"
_ASKED: Final = "what the application itself asks for is not on the wire; a harness tells it"
_CLOSE: Final = "when the application calls close() is not on the wire; a harness tells it"
_CALLBACKS: Final = "how long the application's callbacks take is not on the wire; a harness tells it"
_INTERVAL: Final = "the heartbeat interval is not on the wire: --heartbeat-ms tells it"
_TIMEOUT: Final = "request.timeout.ms is not on the wire"
_INSTANCE: Final = "whether the client was given an instance id is not on the wire"
_RAISED: Final = "what is raised to the application is not on the wire; a harness tells it"
_RESET: Final = "auto.offset.reset is not on the wire"
INTERVAL_RULES: Final = ("H1", "H2", "H7")
"""Judged of a client that is watched only if its heartbeat interval is told."""
_NOT_ON_THE_WIRE: Final[Mapping[str, str]] = (
    dict.fromkeys(("D2", "D3", "J3"), _POLLS)
    | dict.fromkeys(("M6", "M7", "O1", "O2"), _ASKED)
    | dict.fromkeys(("H5", "J5", "J8", "L1", "L3", "M2"), _CLOSE)
    | {"D6": _TIMEOUT, "K2": _CALLBACKS, "O6": _RESET, "X1": _INSTANCE, "X2": _RAISED}
)
_OF_MANY: Final = "several members have one client id, so that nobody knows whose request it was: give each its own"
_NOT_TO_THE_COORDINATOR: Final = ("D1", "D4", "S1")
"""They read requests that carry no member id."""


def _of_the_harness(rule: str) -> str:
    """Why a rule cannot be judged without a harness; "" if it can."""
    needs = [checker.needs - _OFFERED for checker in CHECKERS[rule]]
    return "" if any(not each for each in needs) else f"its harness would tell it: {', '.join(sorted(needs[0]))}"


def _judged() -> tuple[str, ...]:
    return tuple(rule for rule in RULES if rule in CHECKERS)


def _lived(rebalance: Rebalance) -> Scenario:
    return Scenario(
        id=f"live-{rebalance}",
        story=lambda member: member.live(),  # `live.life.Member`
        rules=_judged(),
        source="KIP-62; KIP-429",
        rebalance=rebalance,
        needs=frozenset([rebalance]),
        variants=(FIRST, SECOND),
        timeout_ms=SESSION_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
        doc="""Two members of a client on a broker that nobody scripts: join, consume, commit, leave, close.

        The first joins, reads what is there and commits by itself; the second joins, so that the group rebalances,
        reads, commits when it is told to, and closes, so that the group rebalances again; then the first closes.""",
        elsewhere=_SCRIPTED,
    )


_BY_CLASSIC_REQUESTS: Final = (
    "C2", "C4", "H1", "H2", "H3", "H4", "H7", "J7", "K1", "K2", "L1", "L3", "M1", "M2", "M3", "M7", "O2", "P1", "P2",
    "P3", "S3", "X1", "X2",
)  # fmt: skip
"""Their checkers read JoinGroup, SyncGroup, Heartbeat or LeaveGroup, or an identity that JoinGroup has given."""
_NOT_READ: Final = "it is told by ConsumerGroupHeartbeat, which the kit does not read yet"
_NO_SCRIPT: Final = "no scripted broker speaks ConsumerGroupHeartbeat"


def _lived_in_a_consumer_group() -> Scenario:
    bound = tuple(rule for rule in _judged() if CONSUMER_PROTOCOL[rule].binds != "no")
    return Scenario(
        id="live-consumer",
        story=lambda member: member.live(),  # `live.life.MemberOfConsumerGroup`
        rules=bound,
        source="KIP-848",
        rebalance="cooperative",
        needs=frozenset(["consumer_protocol"]),
        variants=(FIRST, SECOND),
        timeout_ms=SESSION_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
        doc="""Two members of a consumer group (KIP-848) on a broker that nobody scripts: the same plain life.

        When each has a new assignment is seen in its callbacks, and what it reads and commits on the wire.""",
        unseen=tuple((rule, _NOT_READ) for rule in bound if rule in _BY_CLASSIC_REQUESTS),
        elsewhere=_NO_SCRIPT,
    )


def _watched(rebalance: Rebalance, shared: bool, interval: bool) -> Scenario:
    unseen = {rule: why for rule in _judged() if (why := _of_the_harness(rule))} | dict(_NOT_ON_THE_WIRE)
    if shared:
        unseen |= dict.fromkeys(_NOT_TO_THE_COORDINATOR, _OF_MANY)
    if not interval:
        unseen |= dict.fromkeys(INTERVAL_RULES, _INTERVAL)
    name = f"watched-{rebalance}" + ("-timed" if interval else "") + ("-shared" if shared else "")
    return Scenario(
        id=name,
        story=lambda _: None,
        rules=_judged(),
        source="KIP-62; KIP-429",
        rebalance=rebalance,
        needs=frozenset([rebalance]),
        doc="""A member that was seen on the wire, through a proxy, and told nothing.""",
        unseen=tuple(sorted(unseen.items())),
        elsewhere=_SCRIPTED,
    )


def lived(group: Group) -> tuple[Case, Case]:
    """The first member's case, and the second's."""
    return LIVE_CASES[f"live-{group}/first"], LIVE_CASES[f"live-{group}/second"]


def watched(rebalance: Rebalance, *, shared: bool, interval: bool) -> Case:
    """The case of a member that is only watched; `shared`: others have its client id."""
    return LIVE_CASES[_watched(rebalance, shared, interval).id]


def _all() -> list[Scenario]:
    found = [*map(_lived, REBALANCES), _lived_in_a_consumer_group()]
    ways = [(shared, interval) for shared in (False, True) for interval in (False, True)]
    return found + [_watched(rebalance, *way) for rebalance in REBALANCES for way in ways]


LIVE_CASES: Final[Mapping[str, Case]] = {
    case.id: case for scenario in _all() for variant in scenario.variants for case in [Case(scenario, variant)]
}
"""By id, as a recording's header has it."""
