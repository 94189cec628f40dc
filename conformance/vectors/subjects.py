"""What vectors are made of: a member, one partition, a broker's group.

Which machines, and what can happen to them at all.

The machines are offered every event with every value of its inputs. Some values cannot be: an assignment cannot take a
partition away from a member that owns none. Whoever plays the environment could not bring such an event about, so it is
no vector. An answer that comes too late is one event, whatever it says: its content is never looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import product

from groupspec.conformance.stateful.routes import assignment_waits
from groupspec.conformance.vectors.group import group_can_be, group_offers
from groupspec.spec import vocabulary
from groupspec.spec.compiler.member import Member, MemberState, Offer
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.tables import tables
from groupspec.spec.member import MACHINES
from groupspec.spec.terms import Value

PROFILE = "deployed"
"""The profile of every vector: what brokers accept."""


@dataclass(frozen=True, eq=False)
class Subject:
    """One thing that vectors are about.

    Attributes:
        name: What its files are called.
        machines: The machines that run together in it.
        rebalances: A file for each; `any` where both protocols have the same table.
        home: Where a pair's run ends: the state of each machine that this says something about.
        through: The event that must come between the pair and home, so that what the pair left behind has its chance to
            show.
        goes_well: The events on the plain way home, if there is one.
        can_be: Whether an environment could bring an event about in a state.
        shows: What can be seen on an event besides what the machines emit.
    """

    name: str
    machines: tuple[str, ...]
    rebalances: tuple[str, ...] = ("any",)
    _: KW_ONLY
    home: Mapping[str, str]
    through: str
    goes_well: frozenset[str] = frozenset()
    can_be: Callable[[Member, MemberState, Offer], bool] = lambda *_: True
    shows: Callable[[Member, MemberState, Offer], tuple[str, ...]] = lambda *_: ()

    def member(self, rebalance: str) -> Member:
        """The machines, composed, under one protocol."""
        return Member(_either(rebalance), PROFILE, self.machines)

    def tables(self, rebalance: str) -> tuple[Table, ...]:
        """The tables of its machines, under one protocol."""
        return tuple(tables()[machine, _either(rebalance), PROFILE] for machine in self.machines)

    def configurations(self, rebalance: str) -> tuple[dict[str, Value], ...]:
        """Every combination of the configuration variables that its machines read."""
        read = {variable.name: variable for table in self.tables(rebalance) for variable in table.config}
        return tuple(dict(zip(read, values, strict=True)) for values in product(*(v.domain for v in read.values())))

    def offers(self, member: Member) -> tuple[Offer, ...]:
        """Every event that comes from outside, with its inputs; of late answers, one each."""
        if self.name == "group":
            return group_offers()
        every = (Offer(event, tuple(inputs.items())) for event, inputs in member.offers)
        return tuple(offer for offer in every if not _is_late(offer) or _is_plain(offer))


def _either(rebalance: str) -> str:
    return "eager" if rebalance == "any" else rebalance


def _is_late(offer: Offer) -> bool:
    return ("current", False) in offer.inputs


def _is_plain(offer: Offer) -> bool:
    return all(value == vocabulary.VARIABLES[name].initial for name, value in offer.inputs if name != "current")


def _assignments_that_can_be(member: Member, state: MemberState, offer: Offer) -> bool:
    """Of what is owned something is kept, or something taken; of nothing, nothing.

    A subscription takes something only where the machine asks what, and beside an assignment only if there is news.
    """
    if offer.event not in ("sync_accepted", "subscription_changed") or _is_late(offer):
        return True
    told = dict(offer.inputs)
    if offer.event == "subscription_changed":
        if assignment_waits(member, state):
            return bool(told["revokes_any"] or told["retains_any"])
        asks = member.state_of(state, "rebalance") in ("STABLE", "ASSIGNING_PARTITIONS")
        if not member.value_of(state, "subscribed") or (told["revokes_any"] and not asks):
            return False
    elif not told["fits_subscription"] and (
        told["adds_any"] or (told["revokes_any"] and not member.value_of(state, "follow_up"))
    ):
        return False
    return bool(told["revokes_any"] or told["retains_any"]) is bool(member.value_of(state, "owned"))


def _which_callback(member: Member, state: MemberState, offer: Offer) -> tuple[str, ...]:
    """Partitions are taken away in one callback or the other; which one is settled when it begins."""
    if offer.event != "callback_started":
        return ()
    return ("onPartitionsLost",) if member.value_of(state, "lost") else ("onPartitionsRevoked",)


_PLAIN = frozenset(event for (_, error), event in vocabulary.RESPONSES.items() if error == "NONE") | {
    "started",
    "subscribed_to_topics",
    "application_polled",
    "callback_started",
    "partitions_revoked",
    "partitions_assigned",
}

SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "member",
        MACHINES,
        ("eager", "cooperative"),
        home={"connection": "STABLE", "rebalance": "STABLE"},
        through="sync_accepted",
        goes_well=_PLAIN,
        can_be=_assignments_that_can_be,
        shows=_which_callback,
    ),
    Subject("partition", ("subscription",), home={"subscription": "FETCHABLE"}, through="partition_added"),
    Subject("commit", ("commit",), home={"commit": "SETTLED"}, through="commit_accepted"),
    Subject(
        "group",
        ("broker_group",),
        home={"broker_group": "Stable"},
        through="group_assignment_stored",
        can_be=group_can_be,
    ),
)
"""All of them."""
