"""Who goes on at each choice: strategies that search for the order in which threads go wrong.

    Listed        The choices of a list, then the plain order. Replays a failure; Hypothesis draws and shrinks the list.
    RandomWalk    Every thread is as likely as any other, but the one that runs is likelier to go on.
    Tear          Holds up a thread between two of its critical sections until another one has been in the same one, or
                  between its reading of a shared field and what it does next until another one has written it: what is
                  checked and acted upon in two steps is torn apart (Park and Sen, FSE 2008).
    Pct           Random priorities, lowered at a few random moments: finds a bug of depth d with a probability of at
                  least 1 / (threads * steps ** (d - 1)) in each run (Burckhardt et al., ASPLOS 2010).
    depth_first   Every order with at most so many preemptions (Musuvathi and Qadeer, PLDI 2007), the fewest first.

At a choice a strategy sees the names of those that could go on, the plain order's first. The clock, by name `CLOCK`,
stands for the next deadline of a waiting thread: timers race everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

CLOCK: Final = "the clock"


class Choice(NamedTuple):
    """One choice that was made: how many could go on, whether the running thread was the first, and which it was."""

    options: int
    running: bool
    chosen: int

    @property
    def preempts(self) -> bool:
        """Whether a thread that could have gone on was stopped, or a timer ran out before its turn."""
        return self.running and self.chosen > 0


class Strategy(Protocol):
    """Makes the choices of one run."""

    def choose(self, options: Sequence[str], running: bool, step: str) -> int:
        """The index of who goes on.

        Args:
            options: The names of those that can.
            running: Whether the first one is the thread that runs, which is at a yield point.
            step: That point: `acquire subscription`, `write Future.done`; empty if it waits.
        """


class Listed:
    """The choices of a list; when it is used up, the plain order."""

    def __init__(self, schedule: Sequence[int]) -> None:
        self._left = iter(schedule)

    def choose(self, options: Sequence[str], running: bool, step: str) -> int:
        """See Strategy."""
        return next(self._left, 0) % len(options)


class RandomWalk:
    """Any thread; the one that runs goes on with the probability `stay`."""

    def __init__(self, seed: int, stay: float = 0.75) -> None:
        self._random = Random(seed)
        self._stay = stay

    def choose(self, options: Sequence[str], running: bool, step: str) -> int:
        """See Strategy."""
        if running and self._random.random() < self._stay:
            return 0
        return running + int(self._random.random() * (len(options) - running))


class Tear:
    """See above. Which places are torn is drawn for the run; there a thread is held up every other time."""

    def __init__(self, seed: int, often: float = 0.15) -> None:
        self._random = Random(seed)
        self._walk = RandomWalk(seed)
        self._often = often
        self._torn: dict[tuple[str, str], bool] = {}
        self._before: dict[str, str] = {}  # thread -> its latest step, or the section that it is in
        self._held, self._until = "", ""

    def choose(self, options: Sequence[str], running: bool, step: str) -> int:
        """See Strategy."""
        if running:
            name = options[0]
            done = self._before.get(name, "")
            if not step.startswith("notify "):  # it is in a section, which has its name already
                self._before[name] = step
            if done == self._until and self._held in options and self._random.random() < 0.5:
                held, self._held, self._until = self._held, "", ""
                return options.index(held)
            self._maybe_hold(name, done)
        if not self._held:
            return self._walk.choose(options, running, step)
        left = [index for index, name in enumerate(options) if name not in (self._held, CLOCK)]
        if self._held in options and left:
            return 0 if left[0] == 0 and running else self._random.choice(left)
        if not left:
            self._held, self._until = "", ""
        return self._walk.choose(options, running, step)

    def _maybe_hold(self, name: str, done: str) -> None:
        if self._held or not done.startswith(("acquire ", "read ")):
            return
        if self._torn.setdefault((name, done), self._random.random() < self._often) and self._random.random() < 0.5:
            self._held, self._until = name, done.replace("read ", "write ", 1)


class Pct:
    """The thread with the highest priority; at `depth - 1` of the first `steps` choices the chosen one's is lowered.

    The clock falls to the lowest priority whenever it was chosen: else no thread would ever run.
    """

    def __init__(self, seed: int, depth: int = 3, steps: int = 300) -> None:
        self._random = Random(seed)
        self._lowered_at = {self._random.randrange(steps) for _ in range(depth - 1)}
        self._priorities: dict[str, float] = {}
        self._lowest = 0.0
        self._step = 0

    def choose(self, options: Sequence[str], running: bool, step: str) -> int:
        """See Strategy."""
        chosen = max(range(len(options)), key=lambda index: self._priority(options[index]))
        if self._step in self._lowered_at or options[chosen] == CLOCK:
            self._lowest -= 1
            self._priorities[options[chosen]] = self._lowest
        self._step += 1
        return chosen

    def _priority(self, name: str) -> float:
        return self._priorities.setdefault(name, self._random.random())


def depth_first(
    run: Callable[[Sequence[int]], Sequence[Choice]], preemptions: int
) -> Iterator[tuple[tuple[int, ...], Sequence[Choice]]]:
    """Run every schedule with at most so many preemptions, those with fewer first.

    Args:
        run: Runs a schedule and returns the choices that were made.
        preemptions: The bound.

    Yields: each schedule that was run, and its choices.
    """
    pending: list[list[tuple[int, ...]]] = [[()], *([] for _ in range(preemptions))]
    for spent, prefixes in enumerate(pending):
        while prefixes:
            prefix = prefixes.pop()
            choices = run(prefix)
            yield prefix, choices
            made = tuple(choice.chosen for choice in choices)
            for at in range(len(prefix), len(choices)):
                cost = spent + choices[at].running
                if cost <= preemptions:
                    pending[cost] += [(*made[:at], other) for other in range(1, choices[at].options)]
