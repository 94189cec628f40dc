"""What the applications and the clocks of members can do."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.spec.compiler.model import Action, If
from groupspec.spec.composition import group
from groupspec.spec.composition.of_group import REQUESTER
from groupspec.spec.composition.system import ONE, System


def applications(system: System) -> Iterator[Action]:
    """What the application does: subscribe, poll, leave, ask for a rebalance, run its listener."""
    yield Action(
        "subscribes",
        ONE,
        "not subscribed[i] and rebalance[i] == 'UNJOINED'",
        (*system.hear("subscribed_to_topics"), *system.hear("application_polled")),
        "application",
        doc="the application subscribes and polls",
    )
    yield Action(
        "polls",
        ONE,
        "subscribed[i] and not polled[i]",
        system.hear("application_polled"),
        "application",
        "weak",
        doc="the application polls again",
    )
    yield Action(
        "leaves",
        ONE,
        "subscribed[i] and not leaving[i]",
        system.hear("leave_requested"),
        "application",
        doc="unsubscribe() or close()",
    )
    yield Action(
        "asks_to_rejoin",
        ONE,
        "rebalance[i] == 'STABLE' and not preparing[i]",
        system.hear("rejoin_requested"),
        "application",
        doc="the subscription or the metadata changed",
    )
    begins, ends = system.hear("callback_started"), system.hear("partitions_revoked")
    if "callbacks" in system.features:
        yield Action(
            "revoked_callback_begins",
            ONE,
            "rebalance[i] == 'REVOKING_PARTITION' and not callback_running[i]",
            begins,
            "application",
            "weak",
            doc="the listener is called: revoked, or lost",
        )
        yield Action(
            "revoked_callback_ends",
            ONE,
            "rebalance[i] == 'REVOKING_PARTITION' and callback_running[i]",
            ends,
            "application",
            "weak",
            doc="the listener has returned",
        )
    else:
        yield Action(
            "revoked_callback_runs",
            ONE,
            "rebalance[i] == 'REVOKING_PARTITION'",
            (*begins, *ends),
            "application",
            "weak",
            doc="the listener runs: revoked, or lost",
        )
    yield Action(
        "assigned_callback_ends",
        ONE,
        "rebalance[i] == 'ASSIGNING_PARTITIONS'",
        system.hear("partitions_assigned"),
        "application",
        "weak",
        doc="the listener has run: assigned",
    )


def timers(system: System) -> Iterator[Action]:
    """What runs out at a member."""
    beating = "(timeouts[i] == 'IDLE' or timeouts[i] == 'IN_FLIGHT')"
    beat = system.tell("group_heartbeat", requester=REQUESTER, generation_matches=group.matches(system.features))
    none = If((("heartbeat[i] == 'none'", system.hear("heartbeat_ok", current="True")),))
    yield Action(
        "heartbeat_falls_due",
        ONE,
        "timeouts[i] == 'IDLE' and heartbeat[i] == 'none'",
        (*system.hear("heartbeat_due"), *beat, none),
        "timer",
        "weak",
        doc="the heartbeat interval is over",
        arrow=("member i", "group", "Heartbeat"),
    )
    yield Action(
        "poll_interval_expires",
        ONE,
        beating,
        system.hear("poll_interval_expired"),
        "timer",
        doc="the application has stalled",
    )
    yield Action(
        "session_expires_at_member",
        ONE,
        beating,
        system.hear("session_expired"),
        "timer",
        doc="no sign of life from the coordinator",
    )
    yield Action(
        "join_backoff_ends",
        ONE,
        "join_backoff[i]",
        system.hear("join_backoff_elapsed"),
        "timer",
        "weak",
        doc="the retry backoff is over",
    )
