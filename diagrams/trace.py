"""A run of a model as a sequence diagram: who does what, what is sent to whom, and what it changes.

`run_picture(trace, …)` says which lanes there are and what stands in them, as data that can be kept; `run_svg` draws
that. A run has steps and no clock, so the gutter counts steps. Of a model of one member the lanes
are application, member and coordinator, and what the member sends stands under what made it do so. Of a model of a
group there is a lane for each member that takes part and one for the group, and an arrow is a message that arrives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from groupspec.diagrams.sequence import Entry, EntryKind, sequence_svg
from groupspec.spec import vocabulary
from groupspec.spec.composition.machines import CONFIGURES
from groupspec.spec.composition.projection import AT_A_MEMBER, ProjectedEvent, project
from groupspec.spec.explorer.exploration import Trace, TraceStep
from groupspec.spec.explorer.layout import State

APPLICATION: Final = "application"
MEMBER: Final = "member"
COORDINATOR: Final = "coordinator"
GROUP: Final = "group"

_OF_A_MEMBER: Final = frozenset({"connection", "rebalance", "timeouts", "identity", "polled", "join_backoff"})
_CHOSEN: Final = {
    "nothing": "no auto commit",
    "auto_commit": "auto commit",
    "static": "static, no auto commit",
    "auto_commit_static": "static, auto commit",
}
_KINDS: Final[dict[str, EntryKind]] = {"application": "call", "timer": "timer", "network": "connection"}
"""Kind of an action without an arrow to what it is drawn as."""
_GENERATIONS: Final = {
    "older": "older than the log's",
    "stored": "the log's",
    "next": "one after the log's",
    "later": "two or more after the log's",
}


@dataclass(frozen=True)
class RunPicture:
    """What is drawn of a run.

    Attributes:
        title: One line.
        lanes: From left to right.
        entries: From top to bottom; `at_ms` is the number of the step, from 1.
    """

    title: str
    lanes: tuple[str, ...]
    entries: tuple[Entry, ...]


def run_picture(trace: Trace, title: str, ends: str = "", is_violation: bool = True) -> RunPicture:
    """The picture of a run. `ends`: what has come about at its end, as one line; red if that is a violation.

    Raises:
        NotProjectable: the run is not one of a model of the composition, or is not what the tables say.
    """
    is_open = trace.model.scope.family == "open-member"
    entries = list(_of_one(trace) if is_open else _of_a_group(trace))
    lanes = (APPLICATION, MEMBER, COORDINATOR) if is_open else _lanes(trace, entries)
    if ends:
        where = MEMBER if is_open else GROUP
        kind: EntryKind = "violation" if is_violation else "note"
        entries.append(Entry(len(trace.steps), where, "", ends, kind))
    return RunPicture(title, lanes, tuple(entries))


def run_svg(picture: RunPicture) -> str:
    """Drawn as SVG: self-contained, without scripts and ids."""
    return sequence_svg(picture.lanes, picture.entries, picture.title, has_clock=False)


def step_texts(picture: RunPicture) -> tuple[str, ...]:
    """The run in words, a line for each step.

    What happens, what is sent, and what it changes of what a reader knows.
    """
    lines = []
    for _, group in groupby(picture.entries, key=lambda entry: entry.at_ms):
        entries = list(group)
        told = [_told(entry) for entry in entries]
        changes = [entry.note for entry in entries if entry.note]
        lines.append("; ".join(told) + (f" ({'; '.join(changes)})" if changes else ""))
    return tuple(lines)


def _told(entry: Entry) -> str:
    to = f" to {entry.target}" if entry.target not in ("", entry.source) else ""
    return f"{entry.source}{to}: {entry.label}"


def _words(name: str) -> str:
    return name.replace("_", " ")


# One member -----------------------------------------------------------------------------------------------------------


def _of_one(trace: Trace) -> Iterator[Entry]:
    seen = {event.step: event for event in project(trace).events}
    before = trace.initial
    for number, step in enumerate(trace.steps, 1):
        if number not in seen:
            chosen = step.action.removeprefix(CONFIGURES)
            yield Entry(number, MEMBER, "", "configured: " + _CHOSEN.get(chosen, _words(chosen)), "note")
        else:
            yield _heard(number, seen[number], "; ".join(_changes(before, step.state)))
            yield from (_said(number, word) for word in seen[number].sent)
        before = step.state


def _heard(number: int, event: ProjectedEvent, note: str) -> Entry:
    kind = vocabulary.EVENTS[event.event].kind
    late = ", late" if event.inputs.get("current") is False else ""
    if kind == "application":
        return Entry(number, APPLICATION, MEMBER, _words(event.event), "call", note)
    if kind != "message":
        return Entry(number, MEMBER, "", _words(event.event), "timer", note)
    api, error = next(answer for answer, name in vocabulary.RESPONSES.items() if name == event.event)
    given = [name for name in ("revokes_any", "retains_any", "adds_any") if event.inputs.get(name)]
    what = f", {' and '.join(given) or 'nothing'}" if event.event == "sync_accepted" else ""
    return Entry(
        number, COORDINATOR, MEMBER, f"{api}: {error}{what}{late}", "response" if error == "NONE" else "error", note
    )


def _said(number: int, word: str) -> Entry:
    if word in vocabulary.REQUESTS:
        return Entry(number, MEMBER, COORDINATOR, word, "request")
    return Entry(number, MEMBER, APPLICATION, word, "callback")


# A group --------------------------------------------------------------------------------------------------------------


def _of_a_group(trace: Trace) -> Iterator[Entry]:
    actions = {action.name: action for action in trace.model.actions}
    before = trace.initial
    for number, step in enumerate(trace.steps, 1):
        action = actions[step.action]
        member = f"member {step.arguments.get('i', 0)}"
        ends = {"member i": member}
        source, target, text = (ends.get(end, end) for end in action.arrow)
        kind = _KINDS.get(action.kind, "note")
        if source:
            kind = "request" if source != GROUP else "response" if action.name.endswith("accepted_arrives") else "error"
        else:
            source = member if step.action in AT_A_MEMBER or _is_of_member(step, before, action.kind) else GROUP
            text = _words(step.action)
        note = "; ".join(_changes(before, step.state)).replace(f"{member} ", "")
        yield Entry(number, source, target, text, kind, note)
        yield from _owned(number, before, step.state)
        yield from (Entry(number, GROUP, "", text, "note") for text in _known(before, step.state))
        before = step.state


def _is_of_member(step: TraceStep, before: State, kind: str) -> bool:
    """Whether it happens at the member: an application's deed, or something that changes the member itself."""
    i = step.arguments.get("i")
    if i is None or kind == "application":
        return i is not None
    return any(_each(before, name)[i] != now[i] for name in _OF_A_MEMBER if (now := _each(step.state, name)))


def _lanes(trace: Trace, entries: Sequence[Entry]) -> tuple[str, ...]:
    """The members that take part, with the group after the first."""
    members = [f"member {i}" for i in trace.model.indices("members")]
    used = [m for m in members if any(m in (entry.source, entry.target) for entry in entries)] or members[:1]
    return (used[0], GROUP, *used[1:])


# What a step changes -------------------------------------------------------------------------------------------------


def _each(state: State, name: str) -> dict[int, Any]:
    """A variable that every member has; empty where the model has no such variable, or a single member."""
    value = state.get(name)
    return value if isinstance(value, dict) else {}


def _changes(before: State, after: State) -> Iterator[str]:
    """What a reader should see of a step.

    The states of rebalance and group, and whether a lone member owns something.
    """
    then = _each(before, "rebalance")
    yield from (f"member {i} {then[i]} → {now}" for i, now in _each(after, "rebalance").items() if then[i] != now)
    for name, label in (("rebalance", ""), ("broker_group", "group ")):
        if name in after and before[name] != after[name] and not _each(after, name):
            yield f"{label}{before[name]} → {after[name]}"
    if before.get("owned") != after.get("owned"):
        yield "owns partitions" if after["owned"] else "owns nothing"


def _owned(number: int, before: State, after: State) -> Iterator[Entry]:
    """Who owns what from now on."""
    for i, partitions in _each(after, "owns").items():
        if partitions != _each(before, "owns")[i]:
            has = " and ".join(f"partition {p}" for p, yes in partitions.items() if yes)
            yield Entry(number, f"member {i}", "", f"owns {has or 'nothing'}", "note")


def _known(before: State, after: State) -> Iterator[str]:
    """What the group knows from now on, in models that hand ids out (`ids`) or fall back to the log (`log`)."""
    then, now = (_named(state, "registered", "forgotten", "pending") for state in (before, after))
    yield from (f"the id of {who} is pending" for who in sorted(set(now) - set(then)))
    yield from (f"the id of {who} is pending no more" for who in sorted(set(then) - set(now)))
    if "stored" not in after:
        return
    logged = _named(after, "stored", "forgotten_stored", True)
    if logged != _named(before, "stored", "forgotten_stored", True):
        yield f"the log has {' and '.join(logged) or 'nobody'}"
    if before["generation"] != after["generation"]:
        yield f"the group's generation is {_GENERATIONS[str(after['generation'])]}"


def _named(state: State, members: str, former: str, value: object) -> list[str]:
    """The members of whose id a variable has this value; `former` is that of the id that a member had before."""
    return [
        *(f"member {i}" for i, has in _each(state, members).items() if has == value),
        *(f"the former member {i}" for i, has in _each(state, former).items() if has == value),
    ]
