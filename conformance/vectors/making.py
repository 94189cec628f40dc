"""Writes the vectors of one subject under one protocol: a header, a line for each state, a line for each pair.

States are numbered over all configurations of a file; `from` makes a tree of them, so that a way to each is known
without being repeated. What takes room is said once, in the header's legend: the events, what can be sent, and the sets
of events that leave a state as it is or never come there.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from groupspec.conformance.stateful.routes import consecutive
from groupspec.conformance.vectors.schema import FORMAT, VERSION
from groupspec.conformance.vectors.subjects import PROFILE, Subject
from groupspec.conformance.vectors.walking import Node, Reacted, Walked, walk
from groupspec.spec import vocabulary
from groupspec.spec.compiler.member import Member, MemberState, Offer
from groupspec.spec.terms import Variable

Line = dict[str, object]
Key = TypeVar("Key", bound=Hashable)


def file_name(subject: Subject, rebalance: str) -> str:
    """What its file is called."""
    return f"{subject.name}.{rebalance}.{PROFILE}.ndjson.gz"


def spec_hash(subject: Subject, rebalance: str) -> str:
    """What the vectors were made from: the tables, the order in which they hear events, and what answers mean."""
    made_from = {
        "version": VERSION,
        "tables": {table.name: table.hash for table in subject.tables(rebalance)},
        "machines": subject.machines,
        "answers": [[*answer, event] for answer, event in vocabulary.RESPONSES.items()],
    }
    return hashlib.sha256(_json(made_from).encode()).hexdigest()


def recipe_hash(subject: Subject) -> str:
    """How they were made: the code that makes them."""
    names = ("making.py", "subjects.py", "walking.py", *(("group.py",) if subject.name == "group" else ()))
    made_by = b"".join((Path(__file__).parent / name).read_bytes() for name in names)
    return hashlib.sha256(made_by + inspect.getsource(consecutive).encode()).hexdigest()


@cache
def vectors_text(subject: Subject, rebalance: str) -> str:
    """The whole file, before it is compressed."""
    return _Making(subject, rebalance).text()


def file_text(
    subject: Subject,
    rebalance: str,
    lines: Iterable[Line],
    recipe: str,
    configurations: Sequence[object],
    counts: Mapping[str, int],
    events: Iterable[Offer],
    legend: Mapping[str, Iterable[object]],
) -> str:
    """A vector file: its header and its lines.

    Args:
        subject: What it is about.
        rebalance: Under which protocol.
        lines: The states and the pairs; what follows is read after them.
        recipe: The hash of what made the lines.
        configurations: Of the states, by number.
        counts: What the file holds.
        events: By the numbers that the lines use.
        legend: What the numbers for what is sent, for what stays and for what never happens mean.
    """
    body = "".join(_json(line) + "\n" for line in lines)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "spec": spec_hash(subject, rebalance),
        "recipe": recipe,
        "lines": hashlib.sha256(body.encode()).hexdigest(),
        "subject": subject.name,
        "rebalance": rebalance,
        "profile": PROFILE,
        "configurations": configurations,
        "home": subject.home,
        "counts": dict(counts),
        "legend": {
            "events": [_event(offer) for offer in events],
            **{name: list(things) for name, things in legend.items()},
            "states": {table.name: table.states for table in subject.tables(rebalance)},
            "variables": {v.name: {"values": v.domain, "doc": v.doc} for v in _variables(subject.member(rebalance))},
        },
    }
    return _json(header) + "\n" + body


def state_codes(member: Member, state: MemberState) -> Line:
    """The states of the machines, and the values of the variables, by their places in the legend."""
    return {
        "is": [member.tables[m].states.index(member.state_of(state, m)) for m in member.machines],
        "has": "".join(str(v.domain.index(member.value_of(state, v.name))) for v in _variables(member)),
    }


def _variables(member: Member) -> list[Variable]:
    return [v for name in member.variables if (v := vocabulary.VARIABLES[name]).kind == "state"]


def _event(offer: Offer) -> Line:
    event = vocabulary.EVENTS[offer.event]
    said: Line = {"name": offer.event, "inputs": dict(offer.inputs), "kind": event.kind, "doc": event.doc}
    answers = [list(answer) for answer, name in vocabulary.RESPONSES.items() if name == offer.event]
    return {**said, "answers": answers} if answers else said


def is_current(subject: Subject, rebalance: str, text: str) -> bool:
    """Whether a file was made from this specification, and not changed since. Cheap: nothing is made anew."""
    first, _, body = text.partition("\n")
    try:
        header = json.loads(first)
        return bool(
            header["version"] == VERSION
            and header["spec"] == spec_hash(subject, rebalance)
            and header["recipe"] == recipe_hash(subject)
            and header["lines"] == hashlib.sha256(body.encode()).hexdigest()
        )
    except (ValueError, TypeError, KeyError):
        return False


def _json(data: object) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def code(codes: dict[Key, int], thing: Key) -> int:
    """The number of a thing; things are numbered in the order in which they come."""
    return codes.setdefault(thing, len(codes))


class _Making:
    def __init__(self, subject: Subject, rebalance: str) -> None:
        self.subject, self.rebalance = subject, rebalance
        self.sent: dict[tuple[str, ...], int] = {(): 0}
        self.stays: dict[tuple[int, ...], int] = {}
        self.never: dict[tuple[tuple[str, tuple[int, ...]], ...], int] = {}
        self.counts = Counter[str]()
        self.walked = list(walk(subject, rebalance))
        self.member = self.walked[0].member
        self.offers = self.walked[0].offers

    def text(self) -> str:
        legend: dict[str, Iterable[object]] = {"sent": self.sent, "stays": self.stays, "never": self.never}
        about, configurations = (self.subject, self.rebalance), self.subject.configurations(self.rebalance)
        recipe = recipe_hash(self.subject)
        return file_text(*about, self.lines(), recipe, configurations, self.counts, self.offers, legend)

    def lines(self) -> Iterator[Line]:
        first = 0
        starts = []
        for config, walked in enumerate(self.walked):
            starts.append(first)
            yield from (self._state(node, first, config) for node in walked.nodes)
            first += len(walked.nodes)
        yield from self._pairs(starts)

    def _state(self, node: Node, first: int, config: int) -> Line:
        does = [self._step(r, first) for r in node.reactions if r.sent or r.target != node.number]
        never: dict[str, tuple[int, ...]] = {}
        for rule, offer in node.never:
            never[rule] = (*never.get(rule, ()), offer)
        self.counts.update(
            states=1, steps=len(does) + len(node.stays) + len(node.never), changes=len(does), illegal=len(node.never)
        )
        for number in (*(r[0] for r in does), *node.stays, *(offer for _, offer in node.never)):
            self.counts["timers"] += vocabulary.EVENTS[self.offers[number].event].kind == "timer"
            self.counts["late"] += ("current", False) in self.offers[number].inputs
        return {
            "state": first + node.number,
            "from": node.parent and [first + node.parent[0], node.parent[1]],
            "config": config,
            **state_codes(self.member, node.state),
            "does": does,
            "stays": code(self.stays, tuple(node.stays)),
            "never": code(self.never, tuple(never.items())),
        }

    def _step(self, reacted: Reacted, first: int) -> list[int]:
        return [reacted.offer, code(self.sent, reacted.sent), first + reacted.target]

    def _pairs(self, starts: list[int]) -> Iterator[Line]:
        shortest: dict[tuple[str, ...], tuple[int, list[int]]] = {}
        for config, walked in enumerate(self.walked):
            for machine in self.member.machines:
                for goal, run in walked.pairs(machine).items():
                    if goal not in shortest or len(run) < len(shortest[goal][1]):
                        shortest[goal] = config, run
        homes = [walked.ways_home() for walked in self.walked]
        for goal, (config, run) in sorted(shortest.items()):
            walked, first = self.walked[config], starts[config]
            steps, end = self._run(walked, first, 0, run)
            way = walked.way_home(end, homes[config])
            back = None if way is None else self._run(walked, first, end, way)[0]
            self.counts.update(pairs=1, pair_steps=len(run) + len(way or ()), pairs_without_way_home=int(way is None))
            yield {"pair": list(goal), "start": first, "run": steps, "back": back}

    def _run(self, walked: Walked, first: int, start: int, offers: list[int]) -> tuple[list[list[int]], int]:
        steps = []
        for offer in offers:
            reacted = walked.reaction(start, offer)
            steps.append(self._step(reacted, first))
            start = reacted.target
        return steps, start
