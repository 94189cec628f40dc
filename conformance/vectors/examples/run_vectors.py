"""Runs a vector file on the reference core.

Every pair of transitions with its way home, then every event in every state.

    python conformance/vectors/examples/run_vectors.py conformance/vectors/data/member.eager.deployed.ndjson.gz

That takes one to five minutes, by the machine.

Only `CoreBinding` knows the reference: it brings an event about and says what was sent. With your own, this runs on
your client.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TextIO, TypeVar

from groupspec.conformance.errors import EXIT_OK, EXIT_USAGE, Problem
from groupspec.conformance.vectors import VectorFile, VectorStep, read_vectors
from groupspec.conformance.vectors.core_binding import CoreBinding

Item = TypeVar("Item")


class Run:
    """One file on one implementation.

    `counts` of what passed and of what could not be brought about, and `failures`.
    """

    def __init__(self, file: VectorFile, progress: TextIO | None = None) -> None:
        self.file, self.counts, self.failures = file, Counter[str](), list[str]()
        self.progress = progress

    def all_pairs(self) -> None:
        """Each pair, and home, where what it left behind shows."""
        for pair in self.counted("pairs", self.file.pairs):
            self.counts["pairs passed"] += self.walk(pair.start, [*pair.run, *(pair.back or ())])

    def all_states(self, every: int = 1) -> None:
        """To each state (or one of `every`), and on from there along steps that nobody has taken yet."""
        left = {state.number: state.steps() for state in self.file.states}
        for goal in self.counted("states", self.file.states[::every]):
            while todo := next(left[goal.number], None):
                self.walk(self.file.start_of(goal.number), self.file.way_to(goal.number))
                while todo:
                    self.take(*todo)
                    todo = None if self.core.is_worn() else next(left[self.here.number], None)

    def counted(self, what: str, items: Sequence[Item]) -> Iterator[Item]:
        """The items; each tenth of them is told, as all of it takes minutes."""
        for number, item in enumerate(items):
            if self.progress is not None and number * 10 // len(items) != (number - 1) * 10 // len(items):
                print(f"{what}: {number} of {len(items)}", file=self.progress, flush=True)
            yield item

    def walk(self, start: int, steps: list[VectorStep]) -> bool:
        """Take steps in a new core, up to the first that fails or can not be taken: True if there is none."""
        self.here, self.core = self.file.states[start], CoreBinding(self.file, start)
        return all(self.take("on the way", step) for step in steps)

    def take(self, what: str, step: VectorStep) -> bool:
        """Bring one event about, and compare: True if it did what the vector says."""
        if not self.core.can(self.here, step.event):
            self.counts[f"{what}: not driven, {step.event.kind}"] += 1
            return False
        said, wanted = self.core.perform(self.here, step.event), self.core.wanted(step)
        if said != wanted:
            self.failures.append(f"state {self.here.number}, {step.event}: wanted {wanted}, but it did {said}")
        self.counts[f"{what}: {'passed' if said == wanted else 'failed'}"] += 1
        self.here = self.file.states[step.target]
        return said == wanted


def main(arguments: Sequence[str]) -> int:
    """Runs the file; the exit code: 0 if nothing failed, 1 if something did, 2 for a file that cannot be run."""
    if {"-h", "--help"} & {*arguments}:
        print(__doc__)
        return EXIT_OK
    if len(arguments) != 1:
        print("usage: run_vectors.py FILE, a file of conformance/vectors/data about a member", file=sys.stderr)
        return EXIT_USAGE
    try:
        file = read_vectors(arguments[0])
        CoreBinding(file, 0)  # refuses vectors that are not about a member, before any progress is told
        run = Run(file, sys.stderr)
        run.all_pairs()
        run.all_states()
    except Problem as problem:
        print(problem, file=sys.stderr)
        return problem.exit_code
    print(*run.failures[:20], *(f"{count:8} {what}" for what, count in sorted(run.counts.items())), sep="\n")
    return int(bool(run.failures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
