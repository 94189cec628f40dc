"""The search in Python, generated from the same program: same order, same numbers, a fiftieth of the speed."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from groupspec.spec.explorer.engine import Counts, Stop
from groupspec.spec.explorer.exploration import NO_STATE
from groupspec.spec.explorer.folding import Folding
from groupspec.spec.explorer.program import Program
from groupspec.spec.explorer.python_source import python_module

_BYTES_PER_STATE = 220
"""About what a state needs beside its codes: its place in the dictionary, two objects, and the arrays."""


class PythonEngine:
    """One search in Python."""

    name = "python"

    def __init__(
        self,
        program: Program,
        folding: Folding | None = None,
        variant: int = 0,
        stop_at_violation: bool = False,
    ) -> None:
        generated = python_module(program, variant)
        self._successors, self._holds = generated.successors, generated.holds
        self._layout = program.layout
        self._folding = folding
        self._kinds = [claim.claim.kind for claim in program.properties]
        self._action_of = [alternative.action_number for alternative in program.layout.alternatives]
        self._stop_at_violation = stop_at_violation
        self._max_states: int | None = None
        self._max_memory: int | None = None
        self._states: list[bytes] = []
        self._known: dict[bytes, int] = {}
        self._parents, self._numbers = array("I"), array("H")
        self._cursor = self._depth = self._edges = self._dead_ends = self._unfolded = 0
        self._first_dead = NO_STATE
        self._fired = [0] * len(program.actions)
        self._first = [NO_STATE] * len(program.properties)
        self._add(program.layout.initial, NO_STATE, 0)
        self._layer_end = 1

    def limit(self, max_states: int | None, max_memory: int | None) -> None:
        """When `run` must stop."""
        self._max_states = max_states
        self._max_memory = max_memory

    def run(self, expansions: int) -> Stop:
        """Expands at most so many states."""
        for _ in range(expansions):
            if self._stop_at_violation and self._broken():
                return Stop.VIOLATED
            if self._cursor == len(self._states):
                return Stop.COMPLETE
            if self._max_states is not None and len(self._states) >= self._max_states:
                return Stop.STATES
            if self._max_memory is not None and self.memory() > self._max_memory:
                return Stop.MEMORY
            if self._cursor == self._layer_end:
                self._layer_end = len(self._states)
                self._depth += 1
            self._expand()
        return Stop.COMPLETE if self._cursor == len(self._states) else Stop.MORE

    def _broken(self) -> bool:
        return any(
            kind == "invariant" and first != NO_STATE for kind, first in zip(self._kinds, self._first, strict=True)
        )

    def _expand(self) -> None:
        source = self._cursor
        found = self._successors(self._states[source])
        for number, after in found:
            self._fired[self._action_of[number]] += 1
            self._add(after, source, number)
        self._edges += len(found)
        if not found:
            self._first_dead = min(self._first_dead, source)
            self._dead_ends += 1
        self._cursor += 1

    def _add(self, codes: bytes, parent: int, number: int) -> int:
        key, orbit = (codes, 1) if self._folding is None else self._folding.canonical(codes)
        known = self._known.get(key)
        if known is not None:
            return known
        index = self._known[key] = len(self._states)
        self._states.append(key)
        self._parents.append(parent)
        self._numbers.append(number)
        self._unfolded += orbit
        for property_number, kind in enumerate(self._kinds):
            if self._first[property_number] == NO_STATE and kind != "recoverable":
                holds = self._holds[property_number](codes)
                if bool(holds) is (kind == "reachable"):
                    self._first[property_number] = index
        return index

    def counts(self) -> Counts:
        """How far it is."""
        return Counts(
            len(self._states),
            self._cursor,
            self._layer_end,
            self._depth,
            self._edges,
            self._dead_ends,
            self._first_dead,
            self._unfolded,
            tuple(self._fired),
            tuple(self._first),
        )

    def memory(self) -> int:
        """About how many bytes it needs."""
        each = _BYTES_PER_STATE + len(self._layout.fields)
        return each * len(self._states)

    def parent(self, state: int) -> tuple[int, int]:
        """A state's parent, and the number of the alternative that led from there."""
        return self._parents[state], self._numbers[state]

    def packed(self, state: int) -> int:
        """A state, packed."""
        return self._layout.pack(self._states[state])

    def unrecoverable(self, property_number: int) -> int | None:
        """The first state from which none can be reached that has the property."""
        sources: list[list[int]] = [[] for _ in self._states]
        for source, targets in enumerate(self._targets()):
            for target in targets:
                sources[target].append(source)
        todo = [number for number, codes in enumerate(self._states) if self._holds[property_number](codes)]
        marked = set(todo)
        while todo:
            new = [source for source in sources[todo.pop()] if source not in marked]
            marked.update(new)
            todo += new
        return next((number for number in range(len(self._states)) if number not in marked), None)

    def _targets(self) -> Iterator[Iterable[int]]:
        for codes in self._states:
            after = (each for _, each in self._successors(codes))
            yield [self._known[each if self._folding is None else self._folding.canonical(each)[0]] for each in after]

    def close(self) -> None:
        """Gives the memory back."""
        self._states.clear()
        self._known.clear()
