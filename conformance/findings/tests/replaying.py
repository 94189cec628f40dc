"""Runs of models played to the reference: the same events, and what it makes of them.

A run of the published profile is played as far as there is a counterpart. Where the two part, the reference has not
done what the published member did, so some events have nothing to answer to any more: a callback that it never asked
for cannot end. Those are left out, and the replay says so. A run of the deployed profile has a counterpart for
everything; there, nothing may be left out.

While it plays, the reference is followed by the deployed tables (`stateful/lockstep.py`): any difference in state or in
what is sent is a `Divergence`. So a replay shows that the reference does what the deployed specification says, on the
events of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.findings.tests.views import View, view_of_description, view_of_state
from groupspec.conformance.findings.vectors import SUBJECT, seen_by
from groupspec.conformance.stateful.core_adapter import CoreAdapter
from groupspec.conformance.stateful.lockstep import Lockstep, said_of
from groupspec.conformance.stateful.routes import MEMBER, member_of
from groupspec.spec.compiler.member import IllegalEvent, Member, Offer
from groupspec.spec.composition.projection import ProjectedEvent
from groupspec.spec.explorer import Trace
from groupspec.spec.terms import Value

Outcome: TypeAlias = Literal["done", "illegal", "impossible"]


@dataclass(frozen=True)
class Happened:
    """One event of a run, on a member.

    Attributes:
        step: The step of the trace.
        offer: The event and its inputs.
        outcome: *done*; *illegal*: a correct environment does not do this where the member is now; *impossible*: it
            cannot be brought about there, as an assignment that takes what is not owned.
        sent: Requests and events for the application's thread.
        before: How the member was.
        after: How it is then.
    """

    step: int
    offer: Offer
    outcome: Outcome
    sent: tuple[str, ...]
    before: View
    after: View


@dataclass(frozen=True)
class Replay:
    """A run, played to a member."""

    rebalance: str
    config: Mapping[str, Value]
    events: tuple[Happened, ...]

    @property
    def left_out(self) -> tuple[Happened, ...]:
        """Events that had no counterpart."""
        return tuple(event for event in self.events if event.outcome != "done")


def replay_on_reference(trace: Trace, member: int = 1, strict: bool | None = None) -> Replay:
    """Play what one member sees of a run to the reference's core.

    Args:
        trace: A run of a model of `spec.composition.models()`.
        member: Whose view.
        strict: Whether every event must have a counterpart; None: for runs of the deployed profile.

    Raises:
        UsageProblem: an action has no counterpart at a member, or, if strict, at this point of the reference's run.
        Divergence: the reference does not do what the deployed specification says.
    """
    seen = seen_by(trace, member)
    strict = trace.model.scope.profile == "deployed" if strict is None else strict
    deployed = member_of(MEMBER, seen.rebalance)
    start = deployed.initial(**seen.config)
    adapter = CoreAdapter(deployed, start)
    run = Lockstep(deployed, start, adapter)
    events = []
    for each in seen.events:
        happened = _play(run, adapter, each)
        if strict and happened.outcome != "done":
            raise UsageProblem(
                f"step {each.step}, {happened.offer}, has no counterpart at the reference: it is "
                f"{happened.outcome} there",
                f"{trace.model.name}, after {', '.join(run.history) or 'nothing'}",
                "runs of the deployed profile are played whole",
                "replay with strict=False to leave such events out, and read what is in `left_out`",
            )
        events.append(happened)
    return Replay(seen.rebalance, seen.config, tuple(events))


def replay_on_tables(trace: Trace, member: int = 1) -> Replay:
    """The same run on the trace's own tables: what the published member did."""
    seen = seen_by(trace, member)
    own = Member(seen.rebalance, trace.model.scope.profile)
    state = own.initial(**seen.config)
    events = []
    for each in seen.events:
        after = own.react(state, each.event, each.inputs).state
        offer = Offer(each.event, tuple(each.inputs.items()))
        views = view_of_state(own, state), view_of_state(own, after)
        events.append(Happened(each.step, offer, "done", each.sent, *views))
        state = after
    return Replay(seen.rebalance, seen.config, tuple(events))


def _play(run: Lockstep, adapter: CoreAdapter, each: ProjectedEvent) -> Happened:
    offer = Offer(each.event, tuple(each.inputs.items()))
    before = view_of_description(adapter.core.describe())
    outcome: Outcome = "done"
    if _is_illegal(run, offer):
        outcome = "illegal"
    elif not SUBJECT.can_be(run.member, run.state, offer) or not run.offer(offer, illegal=False):
        outcome = "impossible"
    sent = [word for seen in adapter.record for word in said_of(seen.outputs)] if outcome == "done" else []
    return Happened(each.step, offer, outcome, tuple(sent), before, view_of_description(adapter.core.describe()))


def _is_illegal(run: Lockstep, offer: Offer) -> bool:
    try:
        run.member.react(run.state, offer.event, dict(offer.inputs))
    except IllegalEvent:
        return True
    return False
