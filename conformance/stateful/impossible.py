"""What can't happen to a member in one of the threading designs, in which states, and why.

The machines answer more than each design lets happen: they are about all clients. What a design rules out is left out
of the search for routes (`routes.explorations`), so that what is feasible in it is computed, too. Every entry is tried:
in each state that it names the driver is brought to the event, and the event does not come
(`tests/test_impossible.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from groupspec.impl.threads.designs import Design
from groupspec.spec.compiler.member import Member, MemberState
from groupspec.spec.terms import Value


@dataclass(frozen=True)
class Impossible:
    """Events that do not come while the variables have these values.

    Attributes:
        events: Of the alphabet.
        when: Variable -> the value that it has in every state that is meant.
        because: What the design does instead.
        source: The class of Kafka that does it.
    """

    events: tuple[str, ...]
    when: tuple[tuple[str, Value], ...]
    because: str
    source: str

    def holds(self, member: Member, state: MemberState) -> bool:
        """Whether this is one of the states. A machine without these variables has none."""
        return all(name in member.variables and member.value_of(state, name) == value for name, value in self.when)


IMPOSSIBLE: Final[Mapping[Design, tuple[Impossible, ...]]] = MappingProxyType(
    {
        "background": (),
        "heartbeat": (
            Impossible(
                ("heartbeat_due", "poll_interval_expired"),
                (("coordinator_known", False),),
                "the thread looks up the coordinator first, and looks at no timer before it has one",
                "AbstractCoordinator.HeartbeatThread.run: coordinatorUnknown comes before pollTimeoutExpired and "
                "shouldHeartbeat",
            ),
        ),
    }
)


def can_happen(design: Design | None, member: Member, state: MemberState, event: str) -> bool:
    """Whether this design lets the event happen in this state; without one, everything can."""
    ruled_out = IMPOSSIBLE[design] if design is not None else ()
    return not any(event in impossible.events and impossible.holds(member, state) for impossible in ruled_out)


def is_narrower(design: Design, member: Member) -> bool:
    """Whether the design rules anything out for these machines."""
    return any(name in member.variables for impossible in IMPOSSIBLE[design] for name, _ in impossible.when)
