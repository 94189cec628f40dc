"""What the timers of the coordinator can do to a group."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.spec.compiler.model import Action, Set
from groupspec.spec.composition import group, static
from groupspec.spec.composition.system import ONE, System

REQUESTER = "'unknown' if registered[i] == 'absent' else 'pending' if registered[i] == 'pending' else 'member'"
REQUESTER_FORGOTTEN = "'unknown' if forgotten[i] == 'absent' else 'pending' if forgotten[i] == 'pending' else 'member'"


def group_timers(system: System) -> Iterator[Action]:
    """Sessions, the two phases of a rebalance, the initial delay, and the choice of a leader."""
    silent = "(registered[i] == 'pending' or registered[i] == 'unsynced' or registered[i] == 'member')"
    forgot = silent.replace("registered", "forgotten")
    yield Action(
        "session_expires",
        ONE,
        silent,
        system.tell("group_session_expired", requester=REQUESTER, is_awaiting="False", all_joined=group.OTHERS_JOINED),
        "timer",
        doc="the coordinator has not heard of the member for too long",
    )
    yield Action(
        "forgotten_session_expires",
        ONE,
        forgot,
        (
            Set((("about_forgotten", "True"),)),
            *system.tell(
                "group_session_expired",
                requester=REQUESTER_FORGOTTEN,
                is_awaiting="False",
                all_joined=group.OTHERS_JOINED_BUT_FORGOTTEN,
            ),
            Set((("about_forgotten", "False"),)),
        ),
        "timer",
        "weak",
        doc="the session of an id that nobody uses any more runs out",
    )
    left = static.MEMBERS_LEFT if static.FEATURE in system.features else group.SOME_REJOINED
    yield Action(
        "rebalance_timeout",
        (),
        "broker_group == 'PreparingRebalance' and not initial_delay",
        system.tell("group_rebalance_timeout", members_left=left, some_rejoined=group.SOME_REJOINED),
        "timer",
        "weak",
        doc="the join phase has lasted long enough",
    )
    yield Action(
        "initial_delay_ends",
        (),
        "broker_group == 'PreparingRebalance' and initial_delay",
        system.tell("group_initial_delay_elapsed", members_left=left, some_rejoined=group.SOME_REJOINED),
        "timer",
        "weak",
        doc="the initial rebalance delay is over",
    )
    yield Action(
        "sync_timeout",
        (),
        f"(broker_group == 'CompletingRebalance' or broker_group == 'Stable') and {group.UNSYNCED}",
        system.tell("group_sync_timeout", unsynced=group.UNSYNCED),
        "timer",
        "weak",
        doc="somebody has not sent SyncGroup in time",
    )
    settled = "(registered[i] == 'unsynced' or registered[i] == 'member')"
    yield Action(
        "leader_chosen",
        ONE,
        f"leader == 0 and (broker_group == 'CompletingRebalance' or broker_group == 'Stable') and {settled}",
        (Set((("leader", "i"),)),),
        "group",
        "weak",
        doc="a new leader, any of those who are in the generation",
    )
