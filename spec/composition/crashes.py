"""Crashes: of a member's process, and of the coordinator."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.spec.compiler.model import Action, Call, For, If, ModelVariable, Set
from groupspec.spec.composition import group, static
from groupspec.spec.composition.of_network import BEATING, JOINING, SYNCING, breaks
from groupspec.spec.composition.system import MIXED, ONE, System


def crashes(system: System, variables: list[ModelVariable]) -> Iterator[Action]:
    """Whose death is possible, and what is lost with it."""
    own = tuple(
        (f"{v.name}[i]", repr(v.initial))
        for v in variables
        if v.over == ("members",)
        and v.name not in ("registered", "forgotten", "stored", "forgotten_stored", "told", "upgraded")
    )
    nothing = For("p", "partitions", (Set((("owns[i][p]", "False"), ("will_have[i][p]", "False"))),))
    is_static = static.FEATURE in system.features
    lost = Set((("told[i]", "'older'"),)) if is_static else Call("forget_registered", ("i",))
    alive = "(subscribed[i] or identity[i] != 'none')"
    yield Action(
        "process_dies",
        ONE,
        alive,
        (lost, Set(own), nothing),
        "network",
        doc="the process is gone, and another starts in its place; its id is forgotten",
    )
    if system.rebalance == MIXED:
        upgraded = (Call("forget_registered", ("i",)), Set((*own, ("upgraded[i]", "True"))), nothing)
        yield Action(
            "is_upgraded",
            ONE,
            "not upgraded[i]",
            upgraded,
            "application",
            doc="the process is stopped without a word, and the next one runs the cooperative protocol",
        )
    dies, returns = (
        system.tell("group_unloaded"),
        (
            *system.tell("group_loading"),
            *system.tell("group_loaded", members_stored=group.somebody_stored(system.features)),
        ),
    )
    if "log" in system.features:
        yield Action(
            "coordinator_dies",
            (),
            "broker_group != 'Dead'",
            (*dies, Call("requests_are_lost")),
            "group",
            doc="the coordinator dies or moves away; the log stays",
        )
        yield Action(
            "coordinator_returns",
            (),
            "broker_group == 'Dead'",
            returns,
            "group",
            "weak",
            doc="another broker has read the log",
        )
        return
    heard = tuple(
        (guard, breaks(system, event))
        for guard, event in (
            (JOINING, "join_coordinator_gone"),
            (SYNCING, "sync_coordinator_gone"),
            (BEATING, "heartbeat_coordinator_gone"),
        )
    )
    noticed = For("i", "members", (If(heard),))
    yield Action(
        "coordinator_restarts",
        (),
        "broker_group == 'Empty' or broker_group == 'Stable'",
        (*dies, *returns, noticed),
        "group",
        doc="the coordinator dies when the log has all that it knows, another broker reads the log, and "
        "everybody's connection breaks",
    )
