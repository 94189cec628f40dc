"""What one member of a run sees, in the events of its tables.

A trace tells a run of a model in the model's actions. Of a model of one member these are events of the tables, with
their inputs in the name (`join_accepted_current`). In a model of a group an action is something that happens somewhere;
what member i makes of it is a few events of its own: that its JoinGroup arrived is none, that the connection broke is a
failed request and, because these models find the coordinator again at once, the answer to a lookup.

`project(trace, i)` is that translation. The member's whole machines run along, under the trace's own tables, and must
come to the states that the model has: a translation that says something else than the model is an error, and raises
`NotProjectable`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from groupspec.spec import vocabulary
from groupspec.spec.compiler.member import IllegalEvent, Member
from groupspec.spec.composition import static
from groupspec.spec.composition.machines import CONFIGURES, Inputs, action_name, choices
from groupspec.spec.explorer.exploration import Trace, TraceStep
from groupspec.spec.explorer.interpreter import holds
from groupspec.spec.explorer.layout import State
from groupspec.spec.terms import Value

_ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "subscribes": ("subscribed_to_topics", "application_polled"),
    "polls": ("application_polled",),
    "leaves": ("leave_requested",),
    "asks_to_rejoin": ("rejoin_requested",),
    "revoked_callback_runs": ("callback_started", "partitions_revoked"),
    "revoked_callback_begins": ("callback_started",),
    "revoked_callback_ends": ("partitions_revoked",),
    "assigned_callback_ends": ("partitions_assigned",),
    "heartbeat_falls_due": ("heartbeat_due",),
    "poll_interval_expires": ("poll_interval_expired",),
    "session_expires_at_member": ("session_expired",),
    "join_backoff_ends": ("join_backoff_elapsed",),
    "connection_breaks_in_join": ("join_coordinator_gone",),
    "connection_breaks_in_sync": ("sync_coordinator_gone",),
    "connection_breaks_in_heartbeat": ("heartbeat_coordinator_gone",),
}
"""Actions of the models of groups that a member notices at once -> the events that they are to it."""

AT_A_MEMBER: Final = frozenset(_ACTIONS)
"""Those actions: what is no message happens at the member."""

_ELSEWHERE: Final = frozenset((
    "join_arrives", "join_again_arrives", "sync_arrives", "session_expires", "forgotten_session_expires",
    "rebalance_timeout", "initial_delay_ends", "sync_timeout", "leader_chosen", "coordinator_dies",
    "coordinator_returns", "leave_arrives", "late_request_is_dropped", "late_call_is_lost",
))  # fmt: skip
"""Actions that happen in the group or on the way to it: no member sees them before an answer comes."""

_BREAKS: Final = ("connection_breaks_in_join", "connection_breaks_in_sync", "connection_breaks_in_heartbeat")
"""How a connection breaks, by what its member waits for; where everybody's breaks, the first that is possible."""


class NotProjectable(Exception):
    """A run of which a member's view cannot be told; `step` counts from 1."""

    def __init__(self, what: str, step: int, action: str) -> None:
        super().__init__(f"step {step}, {action}: {what}")
        self.what = what
        self.step = step
        self.action = action


@dataclass(frozen=True)
class ProjectedEvent:
    """One event at the member.

    Attributes:
        step: The step of the trace that it belongs to, from 1; 0 is before the first.
        event: As the tables call it.
        inputs: What is told with it.
        sent: Requests and events for the application's thread, in order, by the trace's own tables.
    """

    step: int
    event: str
    inputs: Mapping[str, Value]
    sent: tuple[str, ...]


@dataclass(frozen=True)
class Projection:
    """What one member sees of a run.

    Attributes:
        rebalance: Which protocol it follows.
        config: The configuration that it runs with.
        events: What reaches it, in order.
    """

    rebalance: str
    config: Mapping[str, Value]
    events: tuple[ProjectedEvent, ...]


def project(trace: Trace, member: int = 1) -> Projection:
    """What the member with this number sees of a run of a model of `composition.models()`.

    Raises:
        NotProjectable: the run has an action that is nothing to a member alone (its process dies), or unknown.
    """
    return _Projector(trace, member).project()


@cache
def _spelled() -> Mapping[str, tuple[str, Inputs]]:
    """Action of a model of one member to the event that it is, and its inputs."""
    return {
        action_name(event.name, inputs): (event.name, inputs)
        for event in vocabulary.EVENTS.values()
        for inputs in choices(event)
    }


@cache
def _member(rebalance: str, profile: str) -> Member:
    return Member(rebalance, profile)


class _Projector:
    """One member's machines, run along a trace; `step` and `action` are where it is."""

    def __init__(self, trace: Trace, member: int) -> None:
        scope = trace.model.scope
        self.trace, self.i = trace, member
        # Of a rolling upgrade: whose process is stopped for it is not seen any further, so who is seen is not upgraded.
        self.rebalance = "cooperative" if scope.rebalance == "cooperative" else "eager"
        self.is_open = scope.family == "open-member"
        self.member = _member(self.rebalance, scope.profile)
        self.config: dict[str, Value] = {"static": True} if static.FEATURE in scope.features else {}
        self.state = self.member.initial(**self.config)
        self.events: list[ProjectedEvent] = []
        self.step, self.action = 0, ""

    def project(self) -> Projection:
        """Everything."""
        if not self.is_open:
            self._happens("started", {})
        before = self.trace.initial
        for number, step in enumerate(self.trace.steps, 1):
            self.step, self.action = number, step.action
            if self.is_open and self.action.startswith(CONFIGURES):
                self.config = {name: name in self.action for name in ("auto_commit", "static")}
                self.state = self.member.initial(**self.config)
            else:
                for event, inputs in self._events(step, before):
                    self._happens(event, inputs)
                if not self.is_open and self.member.state_of(self.state, "connection") == "COORDINATOR_DISCOVERY":
                    self._happens("discovery_succeeded", {"current": True})
            self._compare(step.state)
            before = step.state
        return Projection(self.rebalance, self.config, tuple(self.events))

    def _events(self, step: TraceStep, before: State) -> list[tuple[str, Inputs]]:
        """What a step is to the member."""
        action = step.action
        if self.is_open:
            if action not in _spelled():
                raise self._refused("no event of the tables is called so")
            return [_spelled()[action]]
        if action == "coordinator_restarts":
            guards = {each.name: each.guard or "True" for each in self.trace.model.actions}
            breaks = (name for name in _BREAKS if holds(self.trace.model, before, guards[name], {"i": self.i}))
            if not (action := next(breaks, "")):
                return []
        elif action in _ELSEWHERE or step.arguments.get("i") != self.i:
            return []
        answer = action.removesuffix("_arrives")
        if answer in vocabulary.EVENTS:
            return [(answer, self._answered(answer, before))]
        if action not in _ACTIONS:
            raise self._refused("this is nothing that happens to a member and that it lives to see")
        events = [*_ACTIONS[action]]
        if action == "heartbeat_falls_due" and _of(step.state, "heartbeat", self.i) == "none":
            events.append("heartbeat_ok")
        return [(name, {"current": True} if "current" in vocabulary.EVENTS[name].inputs else {}) for name in events]

    def _answered(self, answer: str, before: State) -> dict[str, Value]:
        told: dict[str, Value] = {"current": not _of(before, "request_late", self.i)}
        if answer == "sync_accepted":
            owns, share = ({p for p, yes in before[name][self.i].items() if yes} for name in ("owns", "share"))  # type: ignore[index]
            told |= {"revokes_any": bool(owns - share), "retains_any": bool(owns & share),
                     "adds_any": bool(share - owns), "fits_subscription": True}  # fmt: skip
        return told

    def _happens(self, event: str, inputs: Inputs) -> None:
        try:
            reaction = self.member.react(self.state, event, inputs)
        except IllegalEvent as illegal:
            raise self._refused(f"{event} is refused: {illegal}") from illegal
        self.state = reaction.state
        sent = (word for word in reaction.emitted if word in vocabulary.REQUESTS or word in vocabulary.CONSUMER_EVENTS)
        self.events.append(ProjectedEvent(self.step, event, dict(inputs), tuple(sent)))

    def _compare(self, state: State) -> None:
        for machine in ("rebalance", "timeouts"):
            here = self.member.state_of(self.state, machine)
            there = state[machine] if self.is_open else _of(state, machine, self.i)
            if here != there:
                raise self._refused(f"the member's {machine} is in {here}, the model's in {there}")

    def _refused(self, what: str) -> NotProjectable:
        return NotProjectable(what, self.step, self.action)


def _of(state: State, variable: str, i: int) -> object:
    """A member's value of a variable; None in a model that does not have it."""
    values = state.get(variable)
    return values[i] if isinstance(values, dict) else None
