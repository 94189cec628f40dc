"""Reads a vector file, and says plainly what is wrong with one.

A reader in another language needs none of this: README.md has the format on one screen. This one decodes the codes of
the legend into words, once, and checks what a reader can check: the version, the specification it was made from, that
nothing is cut off, and that no line was changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.outside import contents, decoded
from groupspec.conformance.vectors.making import spec_hash
from groupspec.conformance.vectors.schema import FORMAT, VERSION
from groupspec.conformance.vectors.subjects import SUBJECTS
from groupspec.spec.terms import Value

_FRESH = "write it anew with `groupspec generate`, or take the file from the release of groupspec that you use"


@dataclass(frozen=True)
class VectorEvent:
    """One event, with the values that come with it.

    Attributes:
        name: As the specification calls it.
        inputs: What is told with it.
        kind: What fires it: application, message, timer, or (for parts of a member) internal.
        doc: What it means.
        answers: For an answer, every (request, error) that means it.
    """

    name: str
    inputs: Mapping[str, Value]
    kind: str
    doc: str
    answers: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        told = ", ".join(f"{name}={value}" for name, value in self.inputs.items() if (name, value) != ("current", True))
        return f"{self.name}({told})" if told else self.name


@dataclass(frozen=True)
class VectorStep:
    """One event, what must be sent on it, in order, and the number of the state it leads to (advisory)."""

    event: VectorEvent
    sent: tuple[str, ...]
    target: int


@dataclass(frozen=True)
class VectorState:
    """One reachable state, and what every event makes of it.

    Attributes:
        number: Its place in `VectorFile.states`.
        config: The configuration it belongs to.
        parent: The state before it on the shortest way, and the event; None for a state before the first event.
        states: The state of each machine. Advisory.
        variables: The value of each variable. Advisory.
        does: Events that send something or change the state.
        stays: Events that do neither: ignored, late, already so.
        never: Events that a correct environment never brings about, with the rules that say so.
    """

    number: int
    config: Mapping[str, Value]
    parent: tuple[int, VectorEvent] | None
    states: Mapping[str, str]
    variables: Mapping[str, Value]
    does: tuple[VectorStep, ...]
    stays: tuple[VectorEvent, ...]
    never: tuple[tuple[str, tuple[VectorEvent, ...]], ...]

    def steps(self) -> Iterator[tuple[str, VectorStep]]:
        """Every event as a step.

        First those that must change nothing, called quiet or illegal, then those that do something.
        """
        yield from (("quiet", VectorStep(event, (), self.number)) for event in self.stays)
        yield from (("illegal", VectorStep(event, (), self.number)) for event in self.forbidden())
        yield from (("does", step) for step in self.does)

    def forbidden(self) -> Iterator[VectorEvent]:
        """The events of `never`, without the rules."""
        return (event for _, events in self.never for event in events)


@dataclass(frozen=True)
class Pair:
    """Two rows of one machine that fire one after the other at the end of `run`; `back` leads home (or is None)."""

    machine: str
    rows: tuple[str, str]
    start: int
    run: tuple[VectorStep, ...]
    back: tuple[VectorStep, ...] | None


@dataclass(frozen=True)
class VectorFile:
    """Everything that one file says.

    Attributes:
        subject: `member`, `partition` or another of `subjects.SUBJECTS`.
        rebalance: `eager`, `cooperative`, or `any` where both are the same.
        spec: The hash of the specification it was made from.
        home: The states in which a pair's `back` ends, by machine.
        counts: What it holds, as its writer counted.
        events: Every event.
        states: By number.
        pairs: Every feasible pair of transitions.
    """

    subject: str
    rebalance: str
    spec: str
    home: Mapping[str, str]
    counts: Mapping[str, int]
    events: tuple[VectorEvent, ...]
    states: tuple[VectorState, ...]
    pairs: tuple[Pair, ...]

    def way_to(self, number: int) -> list[VectorStep]:
        """The shortest run from before the first event to a state."""
        way: list[VectorStep] = []
        while (parent := self.states[number].parent) is not None:
            number, event = parent
            way.append(next(step for step in self.states[number].does if step.event is event))
        return way[::-1]

    def start_of(self, number: int) -> int:
        """The state before the first event, in the configuration of a state."""
        while (parent := self.states[number].parent) is not None:
            number = parent[0]
        return number


def vector_files() -> list[Path]:
    """The files that ship with groupspec."""
    return sorted((Path(__file__).parent / "data").glob("*.ndjson.gz"))


def read_vectors(path: str | os.PathLike[str], any_spec: bool = False) -> VectorFile:
    """Read a vector file, compressed or not.

        >>> [*_, partition] = vector_files()
        >>> first = read_vectors(partition).pairs[0]
        >>> first.rows, first.run[3].event.name, first.run[3].sent
        (('ASSIGNED.fetch_answered.1', 'ASSIGNED.partition_enabled.1'), 'partition_enabled', ('Fetch',))

    Args:
        path: The file.
        any_spec: Take a file that was made from another specification than this release's, too.

    Raises:
        UsageProblem: there is none, it is of another version or specification, cut short, changed, or no such file.
    """
    path = Path(path)
    first, _, body = _text(path).partition("\n")
    with _decoding(path, 1):
        header = _parsed(first)
    _check_header(path, header, any_spec)
    lines = body.split("\n")
    with _decoding(path, 1):
        decoder = _Decoder(header)
    states: list[VectorState] = []
    pairs: list[Pair] = []
    for number, line in enumerate(lines[:-1], start=2):
        with _decoding(path, number):
            data = _parsed(line)
            if "pair" in data:
                pairs.append(decoder.pair(data))
            else:
                states.append(decoder.state(data, len(states)))
    counts = header["counts"]
    if lines[-1] or len(states) != counts["states"] or len(pairs) != counts["pairs"]:
        wanted = f"{counts['states']} states and {counts['pairs']} pairs, as the first line says"
        found = f"it ends after {len(states)} states and {len(pairs)} pairs"
        raise UsageProblem(f"the vector file is cut short: {found}", f"{path}, line {len(lines)}", wanted, _FRESH)
    if hashlib.sha256(body.encode()).hexdigest() != header["lines"]:
        what = "the vector file was changed after it was written: its lines have another hash than its first line says"
        raise UsageProblem(what, f"{path}, line 1, key lines", "", _FRESH)
    told = header["subject"], header["rebalance"], header["spec"], header["home"], counts
    return VectorFile(*told, decoder.events, tuple(states), tuple(pairs))


def _text(path: Path) -> str:
    try:
        return contents(path).decode()
    except zlib.error as problem:
        raise UsageProblem(f"the vector file is cut short: {problem}", str(path), "", _FRESH) from problem
    except UnicodeDecodeError as problem:
        raise UsageProblem(
            f"this is no vector file: {problem}", str(path), "JSON Lines, gzip or not", _FRESH
        ) from problem
    except OSError as problem:
        known = [file.name for file in vector_files()]
        raise UsageProblem(f"cannot read the vector file: {problem.strerror}", str(path), known) from problem


def _parsed(line: str) -> dict[str, Any]:
    data = decoded(json.loads, line)
    if not isinstance(data, dict):
        raise TypeError("it is not a JSON object")
    return data


@contextmanager
def _decoding(path: Path, number: int) -> Iterator[None]:
    """Says which line is not as it should be."""
    where = f"{path}, line {number}"
    try:
        yield
    except json.JSONDecodeError as problem:
        raise UsageProblem(f"a line is not JSON: {problem}", where, "", _FRESH) from problem
    except (KeyError, IndexError, TypeError, ValueError) as problem:
        what = f"a line does not keep the format: {type(problem).__name__} {problem}"
        raise UsageProblem(what, where, "what conformance/vectors/data/schema.json says", _FRESH) from problem


def _check_header(path: Path, header: Mapping[str, Any], any_spec: bool) -> None:
    where = f"{path}, line 1"
    if header.get("format") != FORMAT:
        raise UsageProblem("this is no vector file", f"{where}, key format", repr(FORMAT), _FRESH)
    if header.get("version") != VERSION:
        what = f"the vector file is of version {header.get('version')!r}, and this release reads {VERSION}"
        raise UsageProblem(what, f"{where}, key version", str(VERSION), _FRESH)
    specs = {(s.name, rebalance): spec_hash(s, rebalance) for s in SUBJECTS for rebalance in s.rebalances}
    wanted = specs.get((str(header.get("subject")), str(header.get("rebalance"))))
    if not any_spec and header.get("spec") != wanted:
        what = "the vectors were made from another specification than this release's"
        next_step = f"{_FRESH}; to read it all the same: read_vectors(path, any_spec=True)"
        raise UsageProblem(what, f"{where}, key spec", wanted or "no such subject in this release", next_step)


class _Decoder:
    """Turns codes into words, by the legend of one header."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        legend = header["legend"]
        self.configs: list[dict[str, Value]] = header["configurations"]
        self.events = tuple(
            VectorEvent(e["name"], e["inputs"], e["kind"], e["doc"], tuple((a, b) for a, b in e.get("answers", ())))
            for e in legend["events"]
        )
        self.sent = tuple(tuple(words) for words in legend["sent"])
        self.machines: dict[str, list[str]] = legend["states"]
        self.variables: dict[str, list[Value]] = {n: said["values"] for n, said in legend["variables"].items()}
        self.stays = tuple(tuple(self.events[code] for code in codes) for codes in legend["stays"])
        self.never = tuple(
            tuple((rules, tuple(self.events[code] for code in codes)) for rules, codes in group)
            for group in legend["never"]
        )
        self.number_of_states = int(header["counts"]["states"])

    def step(self, codes: list[int]) -> VectorStep:
        event, sent, target = codes
        if not 0 <= target < self.number_of_states:
            raise ValueError(f"there is no state {target}")
        return VectorStep(self.events[event], self.sent[sent], target)

    def steps(self, steps: list[list[int]]) -> tuple[VectorStep, ...]:
        return tuple(self.step(codes) for codes in steps)

    def state(self, data: Mapping[str, Any], number: int) -> VectorState:
        if data["state"] != number:
            raise ValueError(f"state {data['state']} where state {number} comes next")
        parent = data["from"]
        named = zip(self.machines.items(), data["is"], strict=True)
        values = zip(self.variables.items(), data["has"], strict=True)
        return VectorState(
            number,
            self.configs[data["config"]],
            None if parent is None else (int(parent[0]), self.events[parent[1]]),
            {machine: states[code] for (machine, states), code in named},
            {name: domain[int(code)] for (name, domain), code in values},
            self.steps(data["does"]),
            self.stays[data["stays"]],
            self.never[data["never"]],
        )

    def pair(self, data: Mapping[str, Any]) -> Pair:
        machine, first, second = data["pair"]
        back = data["back"]
        run = self.steps(data["run"])
        return Pair(machine, (first, second), data["start"], run, None if back is None else self.steps(back))
