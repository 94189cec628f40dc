"""Writes the vectors of one subject under one protocol: a header, a line for each state, a line for each pair.

States are numbered over all configurations of a file; `from` makes a tree of them, so that a way to each is known
without being repeated. What takes room is said once, in the header's legend: the events, what can be sent, and the sets
of events that leave a state as it is or never come there.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from groupspec.conformance.vectors.schema import FORMAT, VERSION
from groupspec.conformance.vectors.subjects import PROFILE, Subject
from groupspec.conformance.vectors.walking import Node, Reacted, Walked, walk
from groupspec.spec import vocabulary
from groupspec.spec.compiler.member import Offer
from groupspec.spec.compiler.table import Table

Line = dict[str, object]


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
    """How they were made: the code of the files that make them."""
    names = ("making.py", "subjects.py", "walking.py", *(("group.py",) if subject.name == "group" else ()))
    code = b"".join((Path(__file__).parent / name).read_bytes() for name in names)
    return hashlib.sha256(code).hexdigest()


@cache
def vectors_text(subject: Subject, rebalance: str) -> str:
    """The whole file, before it is compressed."""
    making = _Making(subject, rebalance)
    body = "".join(_json(line) + "\n" for line in making.lines())
    return _json(making.header(hashlib.sha256(body.encode()).hexdigest())) + "\n" + body


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


@dataclass
class _Codes:
    """Things that were seen, numbered in the order in which they came."""

    numbers: dict[str, int] = field(default_factory=dict)

    def of(self, thing: object) -> int:
        return self.numbers.setdefault(_json(thing), len(self.numbers))

    def things(self) -> list[object]:
        return [json.loads(thing) for thing in self.numbers]


@dataclass
class _Making:
    subject: Subject
    rebalance: str
    sent: _Codes = field(default_factory=_Codes)
    stays: _Codes = field(default_factory=_Codes)
    never: _Codes = field(default_factory=_Codes)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.sent.of(())
        self.walked = list(walk(self.subject, self.rebalance))
        self.member = self.walked[0].member
        self.offers = self.walked[0].offers
        self.configs = self.subject.configurations(self.rebalance)
        self.tables: dict[str, Table] = {t.name: t for t in self.subject.tables(self.rebalance)}
        owned = (v for name, v in vocabulary.VARIABLES.items() if name in self.member.variables)
        self.variables = [v for v in owned if v.kind == "state"]

    def header(self, lines: str) -> Line:
        return {
            "format": FORMAT,
            "version": VERSION,
            "spec": spec_hash(self.subject, self.rebalance),
            "recipe": recipe_hash(self.subject),
            "lines": lines,
            "subject": self.subject.name,
            "rebalance": self.rebalance,
            "profile": PROFILE,
            "configurations": self.configs,
            "home": self.subject.home,
            "counts": dict(self.counts),
            "legend": {
                "events": [_event(offer) for offer in self.offers],
                "sent": self.sent.things(),
                "stays": self.stays.things(),
                "never": self.never.things(),
                "states": {name: table.states for name, table in self.tables.items()},
                "variables": {v.name: {"values": v.domain, "doc": v.doc} for v in self.variables},
            },
        }

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
        never: dict[str, list[int]] = {}
        for rule, offer in node.never:
            never.setdefault(rule, []).append(offer)
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
            "is": [self.tables[m].states.index(self.member.state_of(node.state, m)) for m in self.member.machines],
            "has": "".join(str(v.domain.index(self.member.value_of(node.state, v.name))) for v in self.variables),
            "does": does,
            "stays": self.stays.of(node.stays),
            "never": self.never.of(list(never.items())),
        }

    def _step(self, reacted: Reacted, first: int) -> list[int]:
        return [reacted.offer, self.sent.of(reacted.sent), first + reacted.target]

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


def _event(offer: Offer) -> Line:
    event = vocabulary.EVENTS[offer.event]
    said: Line = {"name": offer.event, "inputs": dict(offer.inputs), "kind": event.kind, "doc": event.doc}
    answers = [list(answer) for answer, name in vocabulary.RESPONSES.items() if name == offer.event]
    return {**said, "answers": answers} if answers else said
