"""Runs a vector file on the reference core: every pair of transitions with its way home, then every event in every state.

    python conformance/vectors/examples/run_vectors.py conformance/vectors/data/member.eager.deployed.ndjson.gz

Only `CoreBinding` knows the reference: it brings an event about, and says what was sent and what the core says of itself. With a
binding of your own, this runs on your client.
"""

import sys
from collections import Counter
from pathlib import Path

from groupspec.conformance.vectors import Step, VectorFile, VectorState, read_vectors
from groupspec.conformance.vectors.core_binding import CoreBinding, compared


class Run:
    """One file on one implementation: `counts` of what passed and of what could not be brought about, and `failures`."""

    def __init__(self, file: VectorFile) -> None:
        self.file, self.counts, self.failures = file, Counter[str](), list[str]()

    def all_pairs(self) -> None:
        """Every feasible pair of transitions, and the way home, where what it left behind shows."""
        for pair in self.file.pairs:
            steps = [*pair.run, *(pair.back or ())]
            self.counts["pairs passed"] += self.walk(pair.start, steps).number == steps[-1].target

    def all_states(self, every: int = 1) -> None:
        """To each state (or one of `every`), what must change nothing there, then on along steps that nobody has taken yet."""
        left = {state.number: list(state.does) for state in self.file.states}
        seen: set[int] = set()
        for goal in self.file.states[::every]:
            while goal.number not in seen or left[goal.number]:
                here = self.walk(self.file.start_of(goal.number), self.file.way_to(goal.number))
                if here is not goal:
                    self.failures.append(f"no way to state {goal.number}")
                    break
                while not self.core.is_worn() and (here.number not in seen or left[here.number]):
                    if here.number not in seen:
                        seen.add(here.number)
                        for event in here.stays:
                            self.take("quiet steps", here, Step(event, (), here.number))
                        for event in (event for _, events in here.never for event in events):
                            self.take("illegal steps", here, Step(event, (), here.number), illegal=True)
                    elif self.take("steps", here, step := left[here.number].pop()):
                        here = self.file.states[step.target]

    def walk(self, start: int, steps: list[Step]) -> VectorState:
        """Take steps in a new core, as far as they can be taken; where that is."""
        here = self.file.states[start]
        self.core = CoreBinding(self.file, here)
        for step in steps:
            if not self.take("steps on the way", here, step):
                break
            here = self.file.states[step.target]
        return here

    def take(self, what: str, here: VectorState, step: Step, illegal: bool = False) -> bool:
        """Bring one event about, and compare: True if it did what the vector says."""
        if not self.core.can(here, step.event, illegal):
            self.counts[f"{what} not driven, {step.event.kind}"] += 1
            return False
        said = self.core.perform(here, step.event, illegal)
        wanted = compared(step.sent), self.core.expected(self.file.states[step.target])
        if said != wanted:
            self.failures.append(f"state {here.number}, {step.event}: wanted {wanted}, but it did {said}")
        self.counts[f"{what} {'passed' if said == wanted else 'failed'}"] += 1
        return said == wanted


if __name__ == "__main__":
    run = Run(read_vectors(Path(sys.argv[1])))
    run.all_pairs()
    run.all_states(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print("\n".join([*run.failures[:20], *(f"{count:8} {what}" for what, count in sorted(run.counts.items()))]))
    sys.exit(bool(run.failures))
